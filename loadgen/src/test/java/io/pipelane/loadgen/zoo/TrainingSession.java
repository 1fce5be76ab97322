package io.pipelane.loadgen.zoo;

import ai.onnxruntime.OnnxTensor;
import ai.onnxruntime.OrtEnvironment;
import ai.onnxruntime.OrtException;
import ai.onnxruntime.OrtSession;
import ai.onnxruntime.OrtSession.SessionOptions;
import ai.onnxruntime.TensorInfo;
import io.pipelane.loadgen.zoo.graph.ModelWriter;
import io.pipelane.loadgen.zoo.graph.WeightSource;
import io.pipelane.loadgen.zoo.graph.ZooGraph;
import io.pipelane.loadgen.zoo.training.TrainingStep;
import java.io.IOException;
import java.nio.FloatBuffer;
import java.nio.LongBuffer;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import java.util.Random;

/** A training step in a plain session of ONNX Runtime, with a batch that stays the same. */
final class TrainingSession implements AutoCloseable {
  private final OrtEnvironment environment = OrtEnvironment.getEnvironment();
  private final Map<String, String> state;
  private final OrtSession session;
  private final Map<String, OnnxTensor> batch = new HashMap<>();
  private final Map<String, long[]> shapes = new HashMap<>();

  /** What training has changed, by the inputs that hold it; zero at first. */
  final Map<String, float[]> changes = new HashMap<>();

  /**
   * Opens a session.
   *
   * @param folder where the model is written
   * @param rows of the batch, whose values are drawn: pixels from 0 to 1, normal noise, labels
   */
  TrainingSession(ZooGraph step, Path folder, int rows, Random random)
      throws IOException, OrtException {
    state = step.state();
    Path file = folder.resolve("step.onnx");
    new ModelWriter(new WeightSource(random.nextLong())).write(step, file);
    try (SessionOptions options = new SessionOptions()) {
      options.setIntraOpNumThreads(2);
      session = environment.createSession(file.toString(), options);
    }
    for (var input : session.getInputInfo().entrySet()) {
      String name = input.getKey();
      long[] shape = shape((TensorInfo) input.getValue().getInfo(), rows);
      int count = count(shape);
      switch (name) {
        case "label" ->
            batch.put(
                name,
                OnnxTensor.createTensor(
                    environment, LongBuffer.wrap(random.longs(count, 0, 3).toArray()), shape));
        case "input" -> batch.put(name, tensor(values(count, random::nextFloat), shape));
        case "noise" ->
            batch.put(name, tensor(values(count, () -> (float) random.nextGaussian()), shape));
        default -> {
          changes.put(name, new float[count]);
          shapes.put(name, shape);
        }
      }
    }
  }

  private interface Source {
    float next();
  }

  private static float[] values(int count, Source source) {
    float[] values = new float[count];
    for (int i = 0; i < count; i++) {
      values[i] = source.next();
    }
    return values;
  }

  private static long[] shape(TensorInfo info, int rows) {
    return Arrays.stream(info.getShape()).map(size -> size < 0 ? rows : size).toArray();
  }

  private static int count(long[] shape) {
    return (int) Arrays.stream(shape).reduce(1, Math::multiplyExact);
  }

  private OnnxTensor tensor(float[] values, long[] shape) throws OrtException {
    return OnnxTensor.createTensor(environment, FloatBuffer.wrap(values), shape);
  }

  /** What a step answers. */
  record Answer(float loss, Map<String, float[]> next) {}

  /** One step from some changes; these stay as they are. */
  Answer step(Map<String, float[]> from) throws OrtException {
    Map<String, OnnxTensor> changed = new HashMap<>();
    try {
      for (var change : from.entrySet()) {
        long[] shape = shapes.getOrDefault(change.getKey(), new long[0]);
        changed.put(change.getKey(), tensor(change.getValue(), shape));
      }
      Map<String, OnnxTensor> inputs = new HashMap<>(batch);
      inputs.putAll(changed);
      try (OrtSession.Result result = session.run(inputs)) {
        Map<String, float[]> next = new HashMap<>();
        for (var pair : state.entrySet()) {
          next.put(pair.getValue(), floats(result, pair.getKey()));
        }
        return new Answer(floats(result, TrainingStep.LOSS)[0], next);
      }
    } finally {
      changed.values().forEach(OnnxTensor::close);
    }
  }

  private static float[] floats(OrtSession.Result result, String output) {
    FloatBuffer values = ((OnnxTensor) result.get(output).orElseThrow()).getFloatBuffer();
    float[] copy = new float[values.remaining()];
    values.get(copy);
    return copy;
  }

  /** One step from where the last one ended; returns the loss before it. */
  float train() throws OrtException {
    Answer answer = step(changes);
    changes.putAll(answer.next());
    return answer.loss();
  }

  @Override
  public void close() throws OrtException {
    batch.values().forEach(OnnxTensor::close);
    session.close();
  }
}
