package io.pipelane.server.device;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.pipelane.config.PipelaneConfig;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** What worker processes leave of a GPU. */
class GpuBudgetTest {
  private static final long FREE = 80L << 30;
  private static final long PROCESS = 640L << 20;
  private static final long WORKING = 4L << 30;

  private static long weights(String isolation, String switchOn, String offline, long free) {
    Map<String, String> settings =
        Map.of(
            "device.working-memory", "4GiB",
            "workers.isolation", isolation,
            "workers.switch", switchOn,
            "workers.offline", offline);
    return CudaServing.budget(PipelaneConfig.of(settings), free).weights().bytes();
  }

  /** Each that works beside another has lanes of its own. */
  @ParameterizedTest
  @CsvSource({
    "tenant, shared, 1, 1",
    "model, shared, 1, 1",
    "fault, own, 1, 1",
    "tenant, own, 3, 3"
  })
  void workersThatWorkBesideOthers_haveLanesOfTheirOwn(
      String switchOn, String offline, int working, int processes) {
    long taken = working * WORKING + processes * PROCESS;
    assertEquals(
        weights("process", "fault", "shared", FREE - taken),
        weights("process", switchOn, offline, FREE));
  }

  @Test
  void noProcesses_nothingIsSetApart() {
    assertEquals(
        weights("thread", "fault", "shared", FREE), weights("thread", "tenant", "shared", FREE));
  }
}
