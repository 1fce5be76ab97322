package io.pipelane.runtime;

/**
 * The device that ONNX Runtime computes on: the kernels of a session, and where its tensors lie.
 */
public sealed interface ExecutionProvider {
  /** The processor; tensors lie in ordinary memory. */
  Cpu CPU = new Cpu();

  /** What kernels call themselves, and what a derived graph is made for. */
  String name();

  /** The processor. */
  record Cpu() implements ExecutionProvider {
    @Override
    public String name() {
      return "CPUExecutionProvider";
    }
  }

  /**
   * A GPU through CUDA.
   *
   * @param device its index
   * @param stream the {@code CUstream} that kernels are launched on; 0 has the session make one
   * @param tf32 whether FP32 products may be rounded to TF32, which is several times faster
   * @param channelsLast whether convolutions run on tensors of the form [batch, height, width,
   *     channels] with their bias added inside, which is up to 1.7 times faster. A session that
   *     optimises a graph turns it, and not every operator knows the layout; a session that does
   *     not optimise runs a graph that has been turned before
   */
  record Cuda(int device, long stream, boolean tf32, boolean channelsLast)
      implements ExecutionProvider {
    /** Convolutions run on tensors in ONNX's own layout. */
    public Cuda(int device, long stream, boolean tf32) {
      this(device, stream, tf32, false);
    }

    @Override
    public String name() {
      return "CUDAExecutionProvider";
    }
  }
}
