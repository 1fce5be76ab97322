package io.pipelane.demo.plain;

import ai.onnxruntime.OnnxTensor;
import ai.onnxruntime.OnnxValue;
import ai.onnxruntime.OrtEnvironment;
import ai.onnxruntime.OrtException;
import ai.onnxruntime.OrtSession;
import ai.onnxruntime.TensorInfo;
import io.pipelane.demo.protocol.Tensor;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalInt;

/**
 * A model in a plain ONNX Runtime session of its own, run in this process: what answers are
 * compared with. Runs may come from several threads; {@link #close} waits for nobody.
 */
public final class PlainSession implements AutoCloseable {
  private final OrtEnvironment environment;
  private final OrtSession session;

  /**
   * Opens a model file with ONNX Runtime's own defaults, but for its idle threads: they sleep and
   * leave the processor to the server under comparison.
   */
  public PlainSession(Path modelFile) throws OrtException {
    this(modelFile, OptionalInt.empty());
  }

  /** The same on a GPU, if one is given. */
  PlainSession(Path modelFile, OptionalInt gpu) throws OrtException {
    environment = OrtEnvironment.getEnvironment();
    try (OrtSession.SessionOptions options = new OrtSession.SessionOptions()) {
      options.addConfigEntry("session.intra_op.allow_spinning", "0");
      if (gpu.isPresent()) {
        options.addCUDA(gpu.getAsInt());
      }
      session = environment.createSession(modelFile.toString(), options);
    }
  }

  /**
   * Runs the model once.
   *
   * @param inputs FP32 and INT64 tensors
   * @return every output, in the order of the model's declaration; they must be FP32 or INT64
   */
  public List<Tensor> run(List<Tensor> inputs) throws OrtException {
    Map<String, OnnxTensor> feeds = new HashMap<>();
    try {
      for (Tensor input : inputs) {
        feeds.put(input.name(), toOnnx(input));
      }
      try (OrtSession.Result result = session.run(feeds)) {
        List<Tensor> outputs = new ArrayList<>();
        for (Map.Entry<String, OnnxValue> output : result) {
          outputs.add(fromOnnx(output.getKey(), (OnnxTensor) output.getValue()));
        }
        return outputs;
      }
    } finally {
      feeds.values().forEach(OnnxTensor::close);
    }
  }

  @Override
  public void close() throws OrtException {
    session.close();
  }

  private OnnxTensor toOnnx(Tensor tensor) throws OrtException {
    ByteBuffer data = tensor.data();
    long[] shape = tensor.shape().toArray();
    return switch (tensor.type()) {
      case FP32 -> OnnxTensor.createTensor(environment, data.asFloatBuffer(), shape);
      case INT64 -> OnnxTensor.createTensor(environment, data.asLongBuffer(), shape);
      default ->
          throw new IllegalArgumentException(
              "input " + tensor.name() + ": " + tensor.type() + " is not FP32 or INT64");
    };
  }

  private static Tensor fromOnnx(String name, OnnxTensor value) {
    TensorInfo info = value.getInfo();
    return switch (info.type) {
      case FLOAT -> Tensor.of(name, value.getFloatBuffer().array(), info.getShape());
      case INT64 -> Tensor.of(name, value.getLongBuffer().array(), info.getShape());
      default ->
          throw new IllegalStateException(
              "output " + name + ": " + info.type + " is not FP32 or INT64");
    };
  }
}
