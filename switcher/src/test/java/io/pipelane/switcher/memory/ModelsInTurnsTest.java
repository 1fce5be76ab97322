package io.pipelane.switcher.memory;

import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.modelstore.ImportedModel;
import io.pipelane.switcher.memory.account.TransferCounters;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Three models on room for two, one after the other: each time LRU has dropped the next one. */
class ModelsInTurnsTest extends DaemonTest {
  private static final int ROUNDS = 100;
  private static final int MODEL_PAGES = 5;

  @Test
  void acquire_modelsInTurns_eachFindsAPartOfItAndMovesAreBounded() {
    List<ImportedModel> models =
        List.of(
            registered("a", 1, 1, 1, 1, 1),
            registered("b", 1, 1, 1, 1, 1),
            registered("c", 1, 1, 1, 1, 1));
    for (int round = 0; round < ROUNDS; round++) {
      for (ImportedModel model : models) {
        use(model);
        while (daemon.idleLink().fetchAhead(List.of())) {
          device.completeAll();
        }
        clock.addAndGet(Duration.ofMillis(10).toNanos());
      }
    }
    TransferCounters counters = daemon.counters();
    long leastRecentlyUsed = (long) ROUNDS * models.size() * MODEL_PAGES * PAGE;
    long moved = counters.bytesLoaded() + counters.bytesFetchedAhead();
    assertTrue(moved <= 0.7 * leastRecentlyUsed, () -> counters + " of " + leastRecentlyUsed);
    long seconds = Duration.ofNanos(clock.get()).toSeconds();
    assertTrue(counters.pagesPlanned() <= 8 * (seconds + 1), counters::toString);
  }
}
