package io.pipelane.runtime;

/** What ONNX Runtime computes on; the kernels of a session, and where its tensors lie. */
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
   */
  record Cuda(int device, long stream, boolean tf32) implements ExecutionProvider {
    @Override
    public String name() {
      return "CUDAExecutionProvider";
    }
  }
}
