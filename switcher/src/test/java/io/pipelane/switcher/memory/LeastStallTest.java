package io.pipelane.switcher.memory;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.config.section.ResidencyConfig;
import io.pipelane.modelstore.ImportedModel;
import io.pipelane.switcher.grouping.LinkCosts;
import io.pipelane.switcher.grouping.LinkModel;
import io.pipelane.switcher.grouping.PipelineCosts;
import io.pipelane.switcher.grouping.SegmentProfiles;
import io.pipelane.switcher.residency.ResidencySettings;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;

/** What a run waits at least for missing weights, whose segments' times and link are known. */
class LeastStallTest extends DaemonTest {
  private static final long SEGMENT_NANOS = 7;
  private static final List<String> STRUCTURES = List.of("s", "t");

  @Override
  ResidencySettings residency() {
    SegmentProfiles profiles = SegmentProfiles.inMemory();
    for (String structure : STRUCTURES) {
      profiles.observed(structure, "x", new long[] {SEGMENT_NANOS, SEGMENT_NANOS});
    }
    return new ResidencySettings(
        new ResidencyConfig(policy(), Duration.ofMinutes(2), 0, true, false, true, true),
        profiles,
        LinkCosts.of(new PipelineCosts(LinkModel.line(0, 1e9), 0, 0)),
        1,
        false);
  }

  private ImportedModel evicted(String letters, String structure) {
    ImportedModel model = register(FakeModels.ofPages(letters, "of " + structure, structure));
    use(model);
    daemon.evictions().evict(model.version(), 0);
    return model;
  }

  /** A nanosecond a byte, of which the first segment's time is hidden, and nothing for others. */
  @Test
  void leastStall_modelByItself_isWhatItsOwnTransferTakes() {
    ImportedModel model = evicted("abcd", "s");
    long least = daemon.appraisal().leastStallNanos(model.version());
    assertEquals(4 * PAGE - SEGMENT_NANOS, least);
    assertTrue(
        daemon.appraisal().stallNanos(model.version()) > least, "others wait for the link as well");
    assertTrue(
        daemon.idleLink().fetchAhead(List.of(model.version())), "two pages are on their way");
    assertEquals(2 * PAGE - SEGMENT_NANOS, daemon.appraisal().leastStallNanos(model.version()));
    use(model);
    assertEquals(0, daemon.appraisal().leastStallNanos(model.version()));
  }

  @Test
  void leastStall_anotherMayBringAPage_isNotCertain() {
    ImportedModel model = evicted("abcd", "s");
    ImportedModel other = evicted("efgd", "t");
    assertEquals(0, daemon.appraisal().leastStallNanos(model.version()));
    assertEquals(0, daemon.appraisal().leastStallNanos(other.version()));
    assertTrue(daemon.appraisal().stallNanos(model.version()) > 0);
  }

  /** Its size alone says little of how long its bytes take. */
  @Test
  void leastStall_modelThatHasNotRun_isNotKnown() {
    ImportedModel model = registered("unknown", 2, 2);
    assertEquals(0, daemon.appraisal().leastStallNanos(model.version()));
    assertTrue(daemon.appraisal().stallNanos(model.version()) > 0);
  }
}
