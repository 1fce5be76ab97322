package io.pipelane.runtime.graph;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import ai.onnx.proto.OnnxMl.ModelProto;
import ai.onnx.proto.OnnxMl.TensorProto;
import io.pipelane.runtime.TestModels;
import io.pipelane.runtime.graph.content.ModelFile;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/** Every kind of model answers the same plain and gated, with weights that arrive at gates. */
class GatedAnswersTest {
  private static final CutSettings FINE = new CutSettings(1, 16);

  @TempDir Path folder;

  static Stream<Arguments> models() {
    return Stream.of(
        Arguments.of("chain", TestModels.chain(6, TestModels.WIDTH, 1), 6),
        Arguments.of("branches", TestModels.branches(2), 6),
        Arguments.of("quantized", TestModels.quantized(5, 3), 5),
        Arguments.of("halfStored", TestModels.halfStored(5, 4), 5),
        Arguments.of("sharedWeight", TestModels.sharedWeight(5), 2),
        Arguments.of("constantNodes", TestModels.constantNodes(4, 6), 4),
        Arguments.of("conditional", TestModels.conditional(7), 3),
        Arguments.of("middleOutput", TestModels.middleOutput(8), 4),
        Arguments.of("reshaped", TestModels.reshaped(4, 10), 4),
        Arguments.of("islands", TestModels.islands(9), 4),
        Arguments.of("embedding", TestModels.embedding(4, 11), 4),
        Arguments.of("largeTable", TestModels.embedding(4, 8192, 12), 4),
        Arguments.of("identity", TestModels.identity(), 1));
  }

  @ParameterizedTest(name = "{0}")
  @MethodSource("models")
  void cut_ofModelAsWritten_answersAsPlain(String name, ModelProto model, int segments)
      throws Exception {
    Path source = TestModels.write(model, folder.resolve("model.onnx"));
    compare(ArrivingWeights.inMemory(model), source, segments);
  }

  @ParameterizedTest(name = "{0}")
  @MethodSource("models")
  void cut_ofOptimizedModel_answersAsPlain(String name, ModelProto model, int segments)
      throws Exception {
    Path source = TestModels.write(model, folder.resolve("model.onnx"));
    ModelFile optimized;
    try (ArrivingWeights runner = new ArrivingWeights(folder)) {
      optimized = runner.optimize(source);
    }
    compare(optimized, source, segments);
  }

  @ParameterizedTest(name = "{0}")
  @MethodSource("models")
  void cut_forGpu_answersAsPlain(String name, ModelProto model, int segments) throws Exception {
    Path source = TestModels.write(model, folder.resolve("model.onnx"));
    // A table of few rows is streamed there, and is the first weight.
    int tables = name.equals("embedding") ? 1 : 0;
    compare(ArrivingWeights.inMemory(model), source, segments + tables, GraphTarget.GPU);
  }

  private void compare(ModelFile file, Path source, int segments) throws Exception {
    compare(file, source, segments, GraphTarget.PROCESSOR);
  }

  private void compare(ModelFile file, Path source, int segments, GraphTarget target)
      throws Exception {
    Map<String, TensorProto> weights = target.selection().select(file.graph());
    GatedGraph gated = GateCutter.cut(file, weights, FINE, target);
    assertEquals(segments, gated.segments().size());
    try (ArrivingWeights runner = new ArrivingWeights(folder)) {
      List<float[]> expected = runner.plain(source, 3);
      List<float[]> actual = runner.gated(gated, weights, file.folder(), 3);
      double error = ArrivingWeights.relativeError(expected, actual);
      assertTrue(error <= 1e-5, "relative error " + error);
    }
  }
}
