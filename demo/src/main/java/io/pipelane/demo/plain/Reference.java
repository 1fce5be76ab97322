package io.pipelane.demo.plain;

import ai.onnxruntime.OrtException;
import ai.onnxruntime.OrtSession;
import java.nio.file.Path;
import java.util.OptionalInt;

/**
 * The plain sessions that a server's answers are compared with.
 *
 * @param gpu the GPU that they run on, if it is one
 * @param tolerance the {@link RelativeDifference} up to which answers count as equal
 * @param quantizedTolerance the same of models that are quantized at run time: what is rounded to
 *     the next integer on the way makes a coarse difference
 * @param description what they are, for people
 */
public record Reference(
    OptionalInt gpu, double tolerance, double quantizedTolerance, String description) {
  private static final String PLAIN = "a plain ONNX Runtime session";

  /** Sessions on the processor, for a server that runs there. */
  public static final Reference ON_PROCESSOR =
      new Reference(OptionalInt.empty(), RelativeDifference.EQUAL, RelativeDifference.EQUAL, PLAIN);

  /**
   * Sessions on a server's GPU where ONNX Runtime's Java library has CUDA, otherwise on the
   * processor.
   */
  public static Reference onGpu(int index) {
    return hasCuda(index)
        ? new Reference(
            OptionalInt.of(index),
            RelativeDifference.EQUAL_ON_GPU,
            RelativeDifference.EQUAL_ON_GPU,
            PLAIN + " on the same GPU")
        : new Reference(
            OptionalInt.empty(),
            RelativeDifference.GPU_TO_PROCESSOR,
            RelativeDifference.QUANTIZED_GPU_TO_PROCESSOR,
            PLAIN + " on the processor (this ONNX Runtime's Java library has no CUDA)");
  }

  /** The library beside it may have been built with CUDA without the Java library. */
  private static boolean hasCuda(int index) {
    try (OrtSession.SessionOptions options = new OrtSession.SessionOptions()) {
      options.addCUDA(index);
      return true;
    } catch (OrtException e) {
      return false;
    }
  }

  /** The difference that is allowed to a model. */
  public double tolerance(boolean quantized) {
    return quantized ? quantizedTolerance : tolerance;
  }

  /** Opens a model file in such a session. */
  public PlainSession open(Path modelFile) throws OrtException {
    return new PlainSession(modelFile, gpu);
  }
}
