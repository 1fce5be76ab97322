package io.pipelane.lanes.cuda.driver;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import jcuda.driver.CUresult;
import org.junit.jupiter.api.Test;

class CudaDriverTest {
  @Test
  void load_withoutTheDriver_saysSo() {
    StatusException refused = refused("Linux amd64", "libcuda.so.no-such-version");
    assertEquals("libcuda.so.no-such-version is not there: no NVIDIA driver", refused.getMessage());
  }

  @Test
  void load_onAnotherPlatform_saysSo() {
    StatusException refused = refused("Mac OS X aarch64", "libcuda.so.1");
    assertEquals(
        "CUDA is used on Linux amd64 only, and this is Mac OS X aarch64", refused.getMessage());
  }

  @Test
  void load_here_worksOrSaysWhyNot() {
    try {
      CudaDriver driver = CudaDriver.load();
      assertTrue(driver.deviceCount() > 0);
      assertTrue(driver.versionText().matches("1[2-9]\\.\\d"), driver.versionText());
    } catch (StatusException e) {
      assertEquals(Status.UNAVAILABLE, e.status());
    }
  }

  @Test
  void exception_namesErrorCallAndArguments() {
    CudaException failure =
        CudaException.of(CUresult.CUDA_ERROR_OUT_OF_MEMORY, "cuMemCreate", 5, 0x7f0000200000L, -1);
    assertEquals(
        "cuMemCreate(5, 0x7f0000200000, 0xffffffffffffffff) failed: CUDA_ERROR_OUT_OF_MEMORY (2)",
        failure.getMessage());
    assertEquals("CUDA_ERROR_OUT_OF_MEMORY", failure.errorName());
    assertTrue(failure.isOutOfMemory());
  }

  private static StatusException refused(String platform, String library) {
    StatusException refused =
        assertThrows(StatusException.class, () -> CudaDriver.load(platform, library));
    assertEquals(Status.UNAVAILABLE, refused.status());
    return refused;
  }
}
