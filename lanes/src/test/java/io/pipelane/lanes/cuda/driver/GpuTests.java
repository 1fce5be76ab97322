package io.pipelane.lanes.cuda.driver;

import io.pipelane.config.StatusException;
import org.junit.jupiter.api.Assumptions;

/** What tests on a GPU begin with. */
public final class GpuTests {
  private GpuTests() {}

  /** The driver; without one the test is skipped, saying why. */
  public static CudaDriver driverOrSkip() {
    try {
      return CudaDriver.load();
    } catch (StatusException e) {
      return Assumptions.abort("no GPU: " + e.getMessage());
    }
  }
}
