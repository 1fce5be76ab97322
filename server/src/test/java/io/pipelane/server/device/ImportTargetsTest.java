package io.pipelane.server.device;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.modelstore.importing.ImportTarget;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.junit.jupiter.api.Test;

class ImportTargetsTest {
  private final Set<Integer> lost = ConcurrentHashMap.newKeySet();

  private ImportTargets.Of gpu(int ordinal, String kind) {
    return new ImportTargets.Of(target(ordinal, kind), () -> !lost.contains(ordinal));
  }

  private static ImportTarget target(int ordinal, String kind) {
    return ImportTarget.cuda(ordinal, true, kind);
  }

  @Test
  void import_isOfTheFirstDeviceThatIsNotLost() {
    ImportTargets targets =
        new ImportTargets(List.of(gpu(4, "H200"), gpu(5, "H200"), gpu(7, "H200")));
    assertEquals(target(4, "H200"), targets.get());
    lost.add(4);
    assertEquals(target(5, "H200"), targets.get());
    lost.add(5);
    assertEquals(target(7, "H200"), targets.get());
    lost.add(7);
    assertEquals(target(4, "H200"), targets.get(), "another process may still use it");
  }

  @Test
  void devicesOfDifferentKinds_areRefused() {
    StatusException error =
        assertThrows(
            StatusException.class,
            () -> new ImportTargets(List.of(gpu(0, "H100"), gpu(1, "H200"))));
    assertEquals(Status.INVALID_ARGUMENT, error.status());
    assertTrue(String.valueOf(error.getMessage()).contains("H100 and H200"), error::getMessage);
  }
}
