package io.pipelane.switcher.memory;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.config.section.ResidencyConfig;
import io.pipelane.modelstore.ImportedModel;
import io.pipelane.switcher.grouping.LinkModel;
import io.pipelane.switcher.grouping.PipelineCosts;
import io.pipelane.switcher.grouping.SegmentProfiles;
import io.pipelane.switcher.residency.ResidencySettings;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;

/** Pages that come while nobody asks, over a link that takes a millisecond for each. */
class PlannedPagesTest extends DaemonTest {
  private static final ImportedModel COMPUTES_LONG = FakeModels.model("computes-long", 2, 2, 2);
  private static final ImportedModel COPIES_LONG = FakeModels.model("copies-long", 2, 2);

  @Override
  ResidencySettings residency() {
    SegmentProfiles profiles = SegmentProfiles.inMemory();
    long twentyMillis = Duration.ofMillis(20).toNanos();
    profiles.observed(
        COMPUTES_LONG.plan().structureHash(),
        "shape",
        new long[] {twentyMillis, twentyMillis, twentyMillis});
    profiles.observed(COPIES_LONG.plan().structureHash(), "shape", new long[] {1_000, 1_000});
    return new ResidencySettings(
        new ResidencyConfig(policy(), Duration.ofMinutes(2), 0, true, true),
        profiles,
        Optional.of(new PipelineCosts(LinkModel.line(0, PAGE * 1e3), 0, 0)));
  }

  /** Behind the first two pages of the one that is asked most, its copies hide behind its run. */
  @Test
  void nextPageOfTheMostWantedModel_isNotWorthItsCopy_thoseOfOthersCome() {
    register(COMPUTES_LONG);
    register(COPIES_LONG);
    for (int i = 0; i < 3; i++) {
      use(COPIES_LONG);
    }
    for (int i = 0; i < 5; i++) {
      clock.addAndGet(Duration.ofSeconds(1).toNanos());
      use(COMPUTES_LONG);
    }
    daemon.evictions().evict(COMPUTES_LONG.version(), 0);
    daemon.evictions().evict(COPIES_LONG.version(), 0);
    while (daemon.idleLink().fetchAhead(List.of())) {
      device.completeAll();
    }
    assertEquals(4, residentPages(COPIES_LONG));
    assertTrue(residentPages(COMPUTES_LONG) < 6, "some are not worth it");
  }
}
