package io.pipelane.demo.plain;

import ai.onnxruntime.OrtEnvironment;
import ai.onnxruntime.OrtException;
import ai.onnxruntime.OrtProvider;
import java.nio.file.Path;
import java.util.OptionalInt;

/**
 * The plain sessions that a server's answers are compared with.
 *
 * @param gpu the GPU that they run on, if it is one
 * @param tolerance the {@link RelativeDifference} up to which answers count as equal
 * @param description what they are, for people
 */
public record Reference(OptionalInt gpu, double tolerance, String description) {
  private static final String PLAIN = "a plain ONNX Runtime session";

  /** Sessions on the processor, for a server that runs there. */
  public static final Reference ON_PROCESSOR =
      new Reference(OptionalInt.empty(), RelativeDifference.EQUAL, PLAIN);

  /**
   * Sessions on a server's GPU where ONNX Runtime's Java library has CUDA, otherwise on the
   * processor.
   */
  public static Reference onGpu(int index) {
    return OrtEnvironment.getAvailableProviders().contains(OrtProvider.CUDA)
        ? new Reference(
            OptionalInt.of(index), RelativeDifference.EQUAL_ON_GPU, PLAIN + " on the same GPU")
        : new Reference(
            OptionalInt.empty(),
            RelativeDifference.GPU_TO_PROCESSOR,
            PLAIN + " on the processor (this ONNX Runtime's Java library has no CUDA)");
  }

  /** Opens a model file in such a session. */
  public PlainSession open(Path modelFile) throws OrtException {
    return new PlainSession(modelFile, gpu);
  }
}
