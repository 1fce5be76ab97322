package io.pipelane.switcher.memory;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.config.section.ResidencyConfig;
import io.pipelane.modelstore.ImportedModel;
import io.pipelane.modelstore.repository.ModelOptions.Priority;
import io.pipelane.switcher.grouping.SegmentProfiles;
import io.pipelane.switcher.residency.ResidencySettings;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;

/** Wishes on a device whose copies slow runs down, and that is told not to mind. */
class UnpacedWishesTest extends DaemonTest {
  @Override
  int restBehindCopies() {
    return 16;
  }

  @Override
  ResidencySettings residency() {
    return new ResidencySettings(
        new ResidencyConfig(policy(), Duration.ofMinutes(2), 0, true, false, false, false),
        SegmentProfiles.inMemory(),
        Optional.empty());
  }

  @Test
  void wish_somethingRuns_pagesFollowEachOtherAllTheSame() {
    ImportedModel running = registered("running", 1);
    ImportedModel wished = registered("wished", 3);
    use(running);
    Lease lease = daemon.acquire(running.version());
    daemon.idleLink().wish(wished.version(), Optional.empty(), Priority.ONLINE);
    for (int i = 0; i < 3; i++) {
      assertTrue(daemon.idleLink().fetchAhead(List.of()));
      clock.addAndGet(Duration.ofSeconds(10).toNanos());
      device.completeAll();
    }
    assertEquals(3, residentPages(wished));
    lease.close();
  }
}
