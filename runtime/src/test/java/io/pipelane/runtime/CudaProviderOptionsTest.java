package io.pipelane.runtime;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.pipelane.runtime.SessionSettings.Optimization;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

class CudaProviderOptionsTest {
  @Test
  void settings_convolutionsChannelsLast_turnAGraphOnlyWhereItIsOptimised() {
    assertEquals(List.of("1", "1"), layout(true, Optimization.ALL));
    assertEquals(List.of("1", "1"), layout(true, Optimization.BASIC));
    assertEquals(List.of("0", "1"), layout(true, Optimization.NONE));
  }

  @Test
  void settings_onnxLayout_fusesNoBias() {
    assertEquals(List.of("0", "0"), layout(false, Optimization.ALL));
    assertEquals(List.of("0", "0"), layout(false, Optimization.NONE));
  }

  private static List<String> layout(boolean channelsLast, Optimization optimization) {
    Map<String, String> settings =
        CudaProviderOptions.settings(
            new ExecutionProvider.Cuda(0, 0, true, channelsLast), optimization);
    return List.of(
        settings.getOrDefault("prefer_nhwc", ""), settings.getOrDefault("fuse_conv_bias", ""));
  }
}
