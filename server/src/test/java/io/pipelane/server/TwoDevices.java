package io.pipelane.server;

import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.pipelane.lanes.TestDevices;
import io.pipelane.lanes.cuda.driver.CudaDriver;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;

/** The two devices of a server under test: the processor twice, or the host's first two GPUs. */
public final class TwoDevices {
  private static final String KIND = TestDevices.ON_GPU ? "cuda" : "cpu";

  private TwoDevices() {}

  /** What a server calls the first of them. */
  public static String first(PipelaneServer server) {
    return name(server, KIND + ":0");
  }

  /** What it calls the second. */
  public static String second(PipelaneServer server) {
    return name(server, KIND + ":1");
  }

  /** A GPU's name says its kind, too. */
  private static String name(PipelaneServer server, String begin) {
    return server.devices().memory().keySet().stream()
        .filter(name -> name.startsWith(begin))
        .findFirst()
        .orElseThrow();
  }

  /**
   * What a server is told of them.
   *
   * @param memory of each for weights on the processor, in pages of 4 KiB
   * @param gpuPages as many pages of 2 MiB on a GPU, where each small model takes one
   * @throws org.opentest4j.TestAbortedException on a host with one GPU
   */
  public static Map<String, String> settings(String memory, int gpuPages) {
    Map<String, String> settings = new HashMap<>();
    settings.put("device.kind", KIND + ":0,1");
    if (TestDevices.ON_GPU) {
      assumeTrue(CudaDriver.load().deviceCount() > 1, "there is one GPU only");
      Optional.ofNullable(System.getenv("ORT_LIB_DIR"))
          .ifPresent(folder -> settings.put("runtime.library", folder));
      settings.put("device.memory", 2 * gpuPages + "MiB");
      settings.put("device.page-size", "2MiB");
    } else {
      settings.put("device.memory", memory);
      settings.put("device.page-size", "4KiB");
    }
    return settings;
  }
}
