package io.pipelane.modelstore.importing;

import io.pipelane.runtime.ExecutionProvider;
import io.pipelane.runtime.graph.GraphTarget;

/**
 * The target that models are imported for: optimised graphs depend on it.
 *
 * @param provider what optimises and checks graphs; a stream in it is not used
 * @param deviceIdentity tells devices apart for which ONNX Runtime may optimise differently, e.g.
 *     {@code NVIDIA H200 sm_90}
 */
public record ImportTarget(ExecutionProvider provider, String deviceIdentity) {
  private static final double CPU_TOLERANCE = 1e-5;

  /** Kernels of different layouts add up in different orders. */
  private static final double CUDA_TOLERANCE = 1e-3;

  /** This machine's processor. */
  public static ImportTarget processor() {
    return new ImportTarget(ExecutionProvider.CPU, Processor.identity());
  }

  /** A GPU through CUDA, in the layout that is faster. */
  public static ImportTarget cuda(int device, boolean tf32, String deviceIdentity) {
    return cuda(device, tf32, true, deviceIdentity);
  }

  /**
   * A GPU through CUDA.
   *
   * @param device the index of the one that imports; what it makes serves any with its identity
   * @param tf32 whether products may be rounded to TF32
   * @param channelsLast whether convolutions may run channels last, see {@link
   *     ExecutionProvider.Cuda}; import tries it and falls back to ONNX's own layout where answers
   *     differ
   */
  public static ImportTarget cuda(
      int device, boolean tf32, boolean channelsLast, String deviceIdentity) {
    return new ImportTarget(
        new ExecutionProvider.Cuda(device, 0, tf32, channelsLast), deviceIdentity);
  }

  /**
   * What answers are compared on: the provider without roundings that are its own, so that a
   * difference means a wrong graph.
   *
   * @param channelsLast the layout of convolutions
   */
  ExecutionProvider exact(boolean channelsLast) {
    return switch (provider) {
      case ExecutionProvider.Cpu cpu -> cpu;
      case ExecutionProvider.Cuda cuda ->
          new ExecutionProvider.Cuda(cuda.device(), 0, false, channelsLast);
    };
  }

  /** Whether convolutions may run channels last. */
  boolean mayTurnChannelsLast() {
    return provider instanceof ExecutionProvider.Cuda cuda && cuda.channelsLast();
  }

  /** How graphs are cut for it. */
  public GraphTarget graph() {
    return switch (provider) {
      case ExecutionProvider.Cpu cpu -> GraphTarget.PROCESSOR;
      case ExecutionProvider.Cuda cuda -> GraphTarget.GPU;
    };
  }

  /** The relative error up to which answers count as equal. */
  double tolerance() {
    return switch (provider) {
      case ExecutionProvider.Cpu cpu -> CPU_TOLERANCE;
      case ExecutionProvider.Cuda cuda -> CUDA_TOLERANCE;
    };
  }

  /** The part of a cache key that tells targets apart. */
  String key() {
    return switch (provider) {
      case ExecutionProvider.Cpu cpu -> "provider cpu\nprocessor " + deviceIdentity;
      case ExecutionProvider.Cuda cuda ->
          "provider cuda\ntf32 %s\nchannels last %s\ndevice %s"
              .formatted(cuda.tf32(), cuda.channelsLast(), deviceIdentity);
    };
  }
}
