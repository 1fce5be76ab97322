package io.pipelane.server.device;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.config.value.DeviceSelection;
import io.pipelane.server.device.DeviceChoice.Gpus;
import io.pipelane.server.device.DeviceChoice.Processor;
import java.util.List;
import java.util.function.IntSupplier;
import org.junit.jupiter.api.Test;

class DeviceChoiceTest {
  private static final String REASON = "libcuda.so.1 is not there";

  private static int none() {
    throw new StatusException(Status.UNAVAILABLE, REASON);
  }

  private static int two() {
    return 2;
  }

  private static DeviceChoice choose(String selection, IntSupplier gpus) {
    return DeviceChoice.of(DeviceSelection.parse(selection), gpus);
  }

  @Test
  void cpu_neverLooksForGpus() {
    assertEquals(
        new Processor(List.of("cpu"), ""),
        choose(
            "cpu",
            () -> {
              throw new AssertionError("nobody asked");
            }));
  }

  @Test
  void auto_withGpu_takesTheFirst() {
    assertEquals(new Gpus(List.of(0)), choose("auto", DeviceChoiceTest::two));
  }

  @Test
  void auto_withoutGpu_takesTheProcessorAndSaysWhy() {
    assertEquals(Processor.instead(REASON), choose("auto", DeviceChoiceTest::none));
  }

  @Test
  void auto_afterAFault_doesNotHideIt() {
    IntSupplier broken =
        () -> {
          throw new StatusException(Status.INTERNAL, "cuInit: CUDA_ERROR_UNKNOWN");
        };
    assertThrows(StatusException.class, () -> choose("auto", broken));
  }

  @Test
  void cuda_asManyAsThereAre_keepsTheOrder() {
    assertEquals(new Gpus(List.of(1, 0)), choose("cuda:1,0", DeviceChoiceTest::two));
  }

  @Test
  void cuda_withoutGpu_isRefusedWithTheReason() {
    StatusException refusal =
        assertThrows(StatusException.class, () -> choose("cuda:0", DeviceChoiceTest::none));
    assertEquals(Status.UNAVAILABLE, refusal.status());
    assertEquals(
        "device.kind is cuda:0, but libcuda.so.1 is not there (cpu serves without a GPU, auto"
            + " where there is none)",
        refusal.getMessage());
  }

  @Test
  void cuda_beyondTheLast_isRefusedWithTheCount() {
    StatusException refusal =
        assertThrows(StatusException.class, () -> choose("cuda:0,2", DeviceChoiceTest::two));
    assertEquals(
        "device.kind is cuda:0,2, but there is no cuda:2: the driver sees 2, counted from 0",
        refusal.getMessage());
  }
}
