package io.pipelane.switcher.memory;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.modelstore.ImportedModel;
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
  void close_takesBackWhatCouldNotLeave() {
    modelThatCouldNotLeave();
    use(registered("b", 2));
    device.failToUnmap(false);
  }
}
