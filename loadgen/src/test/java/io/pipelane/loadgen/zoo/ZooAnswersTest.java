package io.pipelane.loadgen.zoo;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import ai.onnx.proto.OnnxMl.ModelProto;
import ai.onnx.proto.OnnxMl.NodeProto;
import ai.onnxruntime.OnnxTensor;
import ai.onnxruntime.OrtEnvironment;
import ai.onnxruntime.OrtException;
import ai.onnxruntime.OrtSession;
import ai.onnxruntime.OrtSession.SessionOptions;
import ai.onnxruntime.OrtSession.SessionOptions.OptLevel;
import ai.onnxruntime.TensorInfo;
import java.io.IOException;
import java.nio.FloatBuffer;
import java.nio.LongBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import java.util.Random;
import java.util.function.Function;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** The models in ONNX Runtime, on the CPU. */
@Timeout(120)
class ZooAnswersTest {
  private static final long SEED = 1;
  private static final int SEQUENCE = 8;
  private static final int BATCH = 2;

  /** Beyond what TF32 and another order of additions can change. */
  private static final double CLEARLY = 0.01;

  private final OrtEnvironment environment = OrtEnvironment.getEnvironment();
  @TempDir private Path folder;

  @Test
  void resnet50_answersDependOnTheInput() throws IOException, OrtException {
    checkAnswers(ZooModel.RESNET50);
  }

  @Tag("long")
  @ParameterizedTest
  @EnumSource(names = ".*_TRAIN", mode = EnumSource.Mode.MATCH_NONE)
  void allModels_answersDependOnTheInput(ZooModel model) throws IOException, OrtException {
    checkAnswers(model);
  }

  @Test
  void bertBase_attentionIsFused() throws IOException, OrtException {
    Map<String, Long> operators = optimized(ZooModel.BERT_BASE);

    assertEquals(12, operators.get("Attention"), operators::toString);
    assertEquals(12, operators.get("BiasGelu"), operators::toString);
    assertEquals(24, operators.get("SkipLayerNormalization"), operators::toString);
  }

  private void checkAnswers(ZooModel model) throws IOException, OrtException {
    model.write(folder, SEED);
    try (SessionOptions options = options();
        OrtSession session = environment.createSession(model.file(folder).toString(), options)) {
      float[] first = run(session, 1);
      float[] other = run(session, 2);

      assertTrue(distance(other, first) > CLEARLY, () -> "" + distance(other, first));
      assertArrayEquals(first, run(session, 1));
    }
  }

  /** How often each operator is in the graph that a session makes of a model. */
  private Map<String, Long> optimized(ZooModel model) throws IOException, OrtException {
    model.write(folder, SEED);
    Path optimized = folder.resolve("optimized.onnx");
    try (SessionOptions options = options()) {
      options.setOptimizationLevel(OptLevel.ALL_OPT);
      options.setOptimizedModelFilePath(optimized.toString());
      options.addConfigEntry(
          "session.optimized_model_external_initializers_file_name", "optimized.data");
      environment.createSession(model.file(folder).toString(), options).close();
    }
    return ModelProto.parseFrom(Files.readAllBytes(optimized)).getGraph().getNodeList().stream()
        .map(NodeProto::getOpType)
        .collect(Collectors.groupingBy(Function.identity(), Collectors.counting()));
  }

  private static SessionOptions options() throws OrtException {
    SessionOptions options = new SessionOptions();
    options.setIntraOpNumThreads(2);
    return options;
  }

  private float[] run(OrtSession session, long seed) throws OrtException {
    Map<String, OnnxTensor> inputs = new HashMap<>();
    try {
      for (var input : session.getInputInfo().entrySet()) {
        long[] shape = shape((TensorInfo) input.getValue().getInfo());
        inputs.put(input.getKey(), tensor(input.getKey(), shape, new Random(seed)));
      }
      try (OrtSession.Result result = session.run(inputs)) {
        OnnxTensor answer = (OnnxTensor) result.get(0);
        assertEquals(BATCH, answer.getInfo().getShape()[0]);
        return finite(answer.getFloatBuffer().array());
      }
    } finally {
      inputs.values().forEach(OnnxTensor::close);
    }
  }

  private OnnxTensor tensor(String name, long[] shape, Random random) throws OrtException {
    int count = (int) Arrays.stream(shape).reduce(1, Math::multiplyExact);
    return switch (name) {
      case "input" -> {
        FloatBuffer pixels = FloatBuffer.allocate(count);
        while (pixels.hasRemaining()) {
          pixels.put((float) random.nextGaussian());
        }
        yield OnnxTensor.createTensor(environment, pixels.flip(), shape);
      }
      case "input_ids" ->
          OnnxTensor.createTensor(
              environment, LongBuffer.wrap(random.longs(count, 0, 10_000).toArray()), shape);
      default -> {
        LongBuffer mask = LongBuffer.allocate(count);
        for (int i = 0; i < count; i++) {
          mask.put(i, i % SEQUENCE < SEQUENCE - 1 ? 1 : 0);
        }
        yield OnnxTensor.createTensor(environment, mask, shape);
      }
    };
  }

  private static long[] shape(TensorInfo info) {
    long[] shape = info.getShape();
    String[] names = info.getDimensionNames();
    for (int i = 0; i < shape.length; i++) {
      shape[i] =
          switch (names[i]) {
            case "batch" -> BATCH;
            case "sequence", "frames" -> SEQUENCE;
            default -> shape[i];
          };
    }
    return shape;
  }

  private static float[] finite(float[] values) {
    for (float value : values) {
      assertTrue(Float.isFinite(value), () -> "not finite: " + value);
    }
    return values;
  }

  private static double distance(float[] values, float[] from) {
    double difference = 0;
    double length = 0;
    for (int i = 0; i < from.length; i++) {
      difference += Math.pow(values[i] - (double) from[i], 2);
      length += Math.pow(from[i], 2);
    }
    return Math.sqrt(difference / length);
  }
}
