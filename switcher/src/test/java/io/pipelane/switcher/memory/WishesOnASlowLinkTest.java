package io.pipelane.switcher.memory;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.modelstore.ImportedModel;
import io.pipelane.modelstore.repository.ModelOptions.Priority;
import io.pipelane.switcher.grouping.LinkModel;
import io.pipelane.switcher.grouping.PipelineCosts;
import io.pipelane.switcher.grouping.SegmentProfiles;
import io.pipelane.switcher.residency.ResidencySettings;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;

/** Wishes on a device where a page takes a second, and copies slow runs down. */
class WishesOnASlowLinkTest extends DaemonTest {
  private static final Duration DEADLINE = Duration.ofSeconds(30);
  private static final long PAGE_NANOS = Duration.ofSeconds(1).toNanos();

  @Override
  int restBehindCopies() {
    return 16;
  }

  @Override
  ResidencySettings residency() {
    return new ResidencySettings(
        ResidencySettings.onDemand(policy()).config(),
        SegmentProfiles.inMemory(),
        Optional.of(new PipelineCosts(LinkModel.line(0, PAGE * 1e9 / PAGE_NANOS), 0, 0)));
  }

  private boolean fetch() {
    return daemon.idleLink().fetchAhead(List.of());
  }

  /** Runs never end here: what is not urgent is held back by the copies before. */
  @Test
  void wishOfManyPages_goesBeforeRunsAsSoonAsItsCopiesNeedTheTime() {
    ImportedModel running = registered("running", 1);
    ImportedModel wished = registered("wished", 8);
    use(running);
    Lease lease = daemon.acquire(running.version());
    daemon.idleLink().wish(wished.version(), Optional.of(DEADLINE), Priority.ONLINE);
    assertTrue(fetch());
    clock.addAndGet(PAGE_NANOS);
    device.completeAll();
    assertFalse(fetch(), "seven pages need seven seconds, and there are 29");
    clock.addAndGet(Duration.ofSeconds(16).toNanos());
    assertTrue(fetch(), "thirteen are left");
    while (clock.get() < DEADLINE.toNanos()) {
      clock.addAndGet(PAGE_NANOS);
      device.completeAll();
      boolean _ = fetch();
    }
    device.completeAll();
    assertEquals(8, residentPages(wished));
    lease.close();
  }
}
