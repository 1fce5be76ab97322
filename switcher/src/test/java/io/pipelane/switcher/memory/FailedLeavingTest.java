package io.pipelane.switcher.memory;

import static io.pipelane.switcher.memory.FakeModels.TABLE_BYTES;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.modelstore.ImportedModel;
import io.pipelane.switcher.memory.account.Ledger;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/** Models whose pages cannot be taken off the device when they leave. */
class FailedLeavingTest extends DaemonTest {
  private ImportedModel modelThatCouldNotLeave() {
    ImportedModel model = registered("a", 2, 2);
    use(model);
    device.failToUnmap(true);
    StatusException failure =
        assertThrows(StatusException.class, () -> daemon.deregister(model.version()));
    assertEquals(Status.DEVICE_FAILURE, failure.status());
    return model;
  }

  @Test
  void versionThatCouldNotLeave_comesAgainOnceItCan() {
    ImportedModel model = modelThatCouldNotLeave();
    StatusException failure = assertThrows(StatusException.class, () -> register(model));
    assertEquals(Status.DEVICE_FAILURE, failure.status());
    device.failToUnmap(false);
    register(model);
    use(model);
  }

  @Test
  void versionThatCouldNotLeave_isNotInService_andItsPagesGiveWay() {
    ImportedModel model = modelThatCouldNotLeave();
    device.failToUnmap(false);
    StatusException failure =
        assertThrows(StatusException.class, () -> daemon.acquire(model.version()));
    assertEquals(Status.NOT_FOUND, failure.status());
    use(registered("b", PAGES));
  }

  @Test
  void versionThatCouldNotLeave_countsAsOneThatWasNeverUsed() {
    modelThatCouldNotLeave();
    assertEquals(Map.of(), daemon.appraisal().uses());
    device.failToUnmap(false);
  }

  @Test
  void versionThatCouldNotLeave_givesItsTableBackFirst_andUnderNoLock() {
    ImportedModel model = register(FakeModels.withTable("a", "shared", TABLE_BYTES));
    use(model);
    device.failToUnmap(true);
    assertThrows(StatusException.class, () -> daemon.deregister(model.version()));
    device.failToUnmap(false);
    models.whenTableGoes(this::lookFromAnotherThread);
    register(model);
    models.whenTableGoes(() -> {});
    assertEquals(1, models.mostTables());
  }

  /** Takes the daemon's lock. */
  private void lookFromAnotherThread() {
    try {
      Ledger _ = threads.submit(daemon::ledger).get(5, TimeUnit.SECONDS);
    } catch (Exception e) {
      throw new AssertionError("the daemon's lock is held", e);
    }
  }

  @Test
  void versionWhoseTableStaysInView_leavesLater() {
    ImportedModel model = register(FakeModels.withTable("a", "shared", TABLE_BYTES));
    use(model);
    device.failToHide(true);
    for (int i = 0; i < 2; i++) {
      assertThrows(AssertionError.class, () -> daemon.deregister(model.version()));
    }
    device.failToHide(false);
    daemon.deregister(model.version());
    models.assertAllClosed();
    assertEquals(0, device.openRanges());
  }

  @Test
  void versionWhoseRangeStays_leavesBeforeItComesAgain_andAnotherOneOfItsStructureHasItsOwn() {
    ImportedModel model = variant("a");
    device.failToClose(true);
    for (int i = 0; i < 2; i++) {
      assertThrows(StatusException.class, () -> daemon.deregister(model.version()));
    }
    use(variant("b"));
    assertEquals(2, device.openRanges());
    device.failToClose(false);
    register(model);
    assertEquals(1, device.openRanges());
    use(model);
  }

  @Test
  void close_oneModelThatCannotLeave_keepsNoOther() {
    use(registered("a", 2));
    use(registered("b", 2));
    device.failToClose(true);
    assertThrows(StatusException.class, daemon::close);
    assertEquals(0, daemon.ledger().lentBytes());
    device.failToClose(false);
  }

  @Test
  void close_takesBackWhatCouldNotLeave() {
    modelThatCouldNotLeave();
    use(registered("b", 2));
    device.failToUnmap(false);
  }
}
