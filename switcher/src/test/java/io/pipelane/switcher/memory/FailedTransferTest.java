package io.pipelane.switcher.memory;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.modelstore.ImportedModel;
import java.util.List;
import java.util.concurrent.Future;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Transfers that fail at any point leave what had arrived, and nothing else. */
class FailedTransferTest extends DaemonTest {
  /** Segments whose ends fall between page borders as well as on them. */
  private ImportedModel model() {
    return register(FakeModels.ofBytes("a", 64, 100, 28, 64, 128));
  }

  @ParameterizedTest
  @ValueSource(ints = {0, 1, 2, 3, 4})
  void read_failsInAGroup_leaseFailsThereAndTheNextTransferMendsIt(int failing) {
    ImportedModel model = model();
    var segments = model.plan().segments();
    models.failAt(segments.get(failing).end() - 1);
    Lease lease = daemon.acquire(model.version());
    device.completeAll();
    for (int segment = 0; segment < failing; segment++) {
      lease.await(segment);
      requireContent(model, segment);
      assertFalse(lease.failed());
    }
    assertThrows(StatusException.class, () -> lease.await(failing));
    assertTrue(lease.failed());
    lease.close();
    assertEquals(segments.get(failing).offset() / PAGE, residentPages(model));
    assertEquals(1, daemon.counters().failedLoads());
    models.failAt(Long.MAX_VALUE);
    use(model);
  }

  @ParameterizedTest
  @ValueSource(ints = {0, 1, 2, 3, 4, 5})
  void map_failsAtASlot_acquireFailsAndTheNextOneIsRight(int failing) {
    ImportedModel model = model();
    device.failMappingAfter(failing);
    StatusException error =
        assertThrows(StatusException.class, () -> daemon.acquire(model.version()));
    assertEquals(Status.INSUFFICIENT_MEMORY, error.status());
    device.completeAll();
    assertTrue(residentPages(model) <= failing);
    daemon.ledger().verify();
    models.assertAllClosed();
    use(model);
  }

  @Test
  void map_failsWhileEarlierGroupsArrive_theyArriveWellAndAWaiterIsWoken() throws Exception {
    ImportedModel model = registered("a", 2, 2, 2);
    device.failMappingAfter(4);
    assertThrows(StatusException.class, () -> daemon.acquire(model.version()));
    assertEquals(2, device.pending());
    Future<?> next = threads.submit(() -> daemon.acquire(model.version()).close());
    awaitWaits(2);
    device.completeNext();
    device.completeNext();
    next.get();
    assertEquals(1, device.pending(), "what arrived is not sent for again");
    device.completeAll();
    use(model);
  }

  @Test
  void failedTransfer_isLeasedStill_othersOfTheModelWaitForTheRollBack() throws Exception {
    ImportedModel model = registered("a", 2, 2);
    models.failAt(3 * PAGE);
    Lease first = daemon.acquire(model.version());
    device.completeAll();
    models.failAt(Long.MAX_VALUE);
    Future<?> second =
        threads.submit(
            () -> {
              try (Lease lease = daemon.acquire(model.version())) {
                requireContent(lease, model);
              }
            });
    awaitWaits(2);
    assertEquals(4, residentPages(model));
    first.close();
    await(() -> device.pending() == 1);
    device.completeAll();
    second.get();
  }

  @Test
  void hostTier_failsToOpen_acquireFailsAndNothingIsTaken() {
    ImportedModel model = registered("a", 2, 2);
    models.failToOpen(true);
    assertThrows(StatusException.class, () -> daemon.acquire(model.version()));
    assertEquals(0, daemon.ledger().lentBytes());
    models.failToOpen(false);
    use(model);
  }

  @Test
  void failedTransfer_itsPagesAreHadByOthers() {
    ImportedModel broken = registered("broken", 5, 5);
    ImportedModel other = registered("other", 10);
    models.failAt(2 * PAGE);
    daemon.acquire(broken.version()).close();
    device.completeAll();
    models.failAt(Long.MAX_VALUE);
    use(other);
    assertEquals(0, residentPages(broken));
  }

  @Test
  void before_ofAGroupThatHasFailed_throwsInsteadOfLettingTheRunGoOn() {
    ImportedModel model = registered("a", 2, 2);
    models.failAt(3 * PAGE);
    try (Lease lease = daemon.acquire(model.version())) {
      device.completeAll();
      assertEquals(List.of(), lease.before(0));
      StatusException error = assertThrows(StatusException.class, () -> lease.before(1));
      assertTrue(error.toString().contains("the disk is broken"), error.toString());
      assertTrue(lease.failed());
    }
  }

  @Test
  void evict_ofAFailedTransferThatNobodyHasSeen_keepsNothingOfIt() {
    ImportedModel model = registered("a", 2, 2);
    models.failAt(3 * PAGE);
    daemon.acquire(model.version()).close();
    device.completeAll();
    models.failAt(Long.MAX_VALUE);
    daemon.evictions().evict(model.version(), 4 * PAGE);
    assertEquals(2, residentPages(model));
    use(model);
  }
}
