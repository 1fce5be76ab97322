package io.pipelane.bench.local;

import ai.onnxruntime.OnnxTensor;
import ai.onnxruntime.OrtEnvironment;
import ai.onnxruntime.OrtException;
import ai.onnxruntime.OrtSession;
import ai.onnxruntime.OrtSession.SessionOptions;
import io.pipelane.bench.measure.Run;
import io.pipelane.demo.protocol.Tensor;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * A plain ONNX Runtime session of a model with one input: one thread a run, default optimisation.
 * Its input is made once, outside the Java heap, and its answers are left unread where ONNX Runtime
 * put them, so it does nothing that the comparison could do without.
 */
public final class PlainModel implements AutoCloseable {
  private final OrtSession session;
  private final Map<String, OnnxTensor> inputs = new HashMap<>();

  /** Opens a session of a model file. */
  public PlainModel(Path file, List<Tensor> inputs) throws OrtException {
    OrtEnvironment environment = OrtEnvironment.getEnvironment();
    try (SessionOptions options = new SessionOptions()) {
      options.setIntraOpNumThreads(1);
      session = environment.createSession(file.toString(), options);
    }
    for (Tensor input : inputs) {
      this.inputs.put(input.name(), toOnnx(environment, input));
    }
  }

  /** A run for any thread; several may be under way. */
  public Run run() {
    return () -> session.run(inputs).close();
  }

  @Override
  public void close() throws OrtException {
    inputs.values().forEach(OnnxTensor::close);
    session.close();
  }

  private static OnnxTensor toOnnx(OrtEnvironment environment, Tensor tensor) throws OrtException {
    ByteBuffer data =
        ByteBuffer.allocateDirect(tensor.data().remaining())
            .order(ByteOrder.nativeOrder())
            .put(tensor.data())
            .flip();
    long[] shape = tensor.shape().toArray();
    return switch (tensor.type()) {
      case FP32 -> OnnxTensor.createTensor(environment, data.asFloatBuffer(), shape);
      case INT64 -> OnnxTensor.createTensor(environment, data.asLongBuffer(), shape);
      default ->
          throw new IllegalArgumentException(
              "input " + tensor.name() + ": " + tensor.type() + " is not FP32 or INT64");
    };
  }
}
