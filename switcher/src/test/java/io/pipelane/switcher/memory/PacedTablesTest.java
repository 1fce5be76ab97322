package io.pipelane.switcher.memory;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.modelstore.ImportedModel;
import io.pipelane.switcher.residency.ResidencySettings;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Copies of tables on a device that rests behind copies as long as they take, as a GPU does. */
class PacedTablesTest extends DaemonTest {
  @Override
  int restBehindCopies() {
    return 1;
  }

  private boolean fetchAhead() {
    return daemon.idleLink().fetchAhead(List.of());
  }

  @Test
  void pagesOfATable_somethingRuns_areFollowedByARest() {
    ImportedModel model = register(models.withLargeTable("hot", "hot", 4));
    use(model);
    for (int i = 0; i < ResidencySettings.HOT_RUNS; i++) {
      daemon.acquire(model.version()).close();
    }
    Lease lease = daemon.acquire(model.version());
    for (int page = 0; page < 3; page++) {
      assertTrue(fetchAhead());
      clock.addAndGet(1_000);
      device.completeAll();
      assertFalse(fetchAhead());
      assertEquals(1_000, daemon.idleLink().restNanos());
      clock.addAndGet(1_000);
    }
    assertTrue(fetchAhead());
    device.completeAll();
    lease.close();
  }
}
