package io.pipelane.runtime;

import static java.lang.foreign.ValueLayout.JAVA_LONG;

import io.pipelane.runtime.SessionSettings.Optimization;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.Map;

/** ONNX Runtime's settings of its CUDA provider. */
final class CudaProviderOptions {
  private CudaProviderOptions() {}

  /**
   * The settings by name.
   *
   * @param optimization of the session: a graph that is not optimised is in its layout already
   */
  static Map<String, String> settings(ExecutionProvider.Cuda cuda, Optimization optimization) {
    /*
     * Asked to turn a graph, ONNX Runtime places its nodes twice, also where nothing is left to be
     * turned (GetCapabilityForEP in its graph_partitioner.cc). The second time it no longer sees
     * which shapes come from the host, so their computation goes to the GPU, and each is copied
     * there and back. Kernels are chosen by a node's domain, whatever is asked for.
     */
    boolean turns = cuda.channelsLast() && optimization != Optimization.NONE;
    return Map.ofEntries(
        Map.entry("device_id", Integer.toString(cuda.device())),
        // The heuristic asks cuDNN; measuring instead would take seconds per model.
        Map.entry("cudnn_conv_algo_search", "HEURISTIC"),
        Map.entry("cudnn_conv_use_max_workspace", "1"),
        Map.entry("arena_extend_strategy", "kSameAsRequested"),
        Map.entry("prefer_nhwc", turns ? "1" : "0"),
        // Fused with the bias in ONNX's own layout, convolutions answer NaN.
        Map.entry("fuse_conv_bias", cuda.channelsLast() ? "1" : "0"),
        Map.entry("use_tf32", cuda.tf32() ? "1" : "0"));
  }

  /** Adds the provider to a session's options; loads CUDA's libraries. */
  static void append(
      OrtApi api, long sessionOptions, ExecutionProvider.Cuda cuda, Optimization optimization) {
    long options = api.create(OrtApi.CREATE_CUDA_PROVIDER_OPTIONS);
    try (Arena arena = Arena.ofConfined()) {
      List<Map.Entry<String, String>> settings =
          List.copyOf(settings(cuda, optimization).entrySet());
      MemorySegment keys = arena.allocate(JAVA_LONG, settings.size());
      MemorySegment values = arena.allocate(JAVA_LONG, settings.size());
      for (int i = 0; i < settings.size(); i++) {
        keys.setAtIndex(JAVA_LONG, i, arena.allocateFrom(settings.get(i).getKey()).address());
        values.setAtIndex(JAVA_LONG, i, arena.allocateFrom(settings.get(i).getValue()).address());
      }
      api.call(
          OrtApi.UPDATE_CUDA_PROVIDER_OPTIONS,
          options,
          keys.address(),
          values.address(),
          settings.size());
      if (cuda.stream() != 0) {
        api.call(
            OrtApi.UPDATE_CUDA_PROVIDER_OPTION_WITH_VALUE,
            options,
            arena.allocateFrom("user_compute_stream").address(),
            cuda.stream());
      }
      api.call(OrtApi.APPEND_CUDA_PROVIDER, sessionOptions, options);
    } finally {
      api.invoke(OrtApi.RELEASE_CUDA_PROVIDER_OPTIONS, options);
    }
  }
}
