package io.pipelane.runtime.graph;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import ai.onnx.proto.OnnxMl.GraphProto;
import ai.onnx.proto.OnnxMl.ModelProto;
import io.pipelane.runtime.Shape;
import io.pipelane.runtime.TensorType;
import io.pipelane.runtime.TestModels;
import io.pipelane.runtime.UnshapedModels;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class UnshapedValuesTest {
  private static final Set<String> NAMES = Set.of("x", "y", "other");

  @TempDir private Path folder = Path.of("");

  UnshapedValuesTest() {}

  private Set<String> among(ModelProto model) throws IOException {
    return UnshapedValues.among(NAMES, TestModels.write(model, folder.resolve("model.onnx")));
  }

  @Test
  void among_file_findsWhatHasNoShapeBehindItsWeights() throws IOException {
    ModelProto chain = TestModels.chain(3, TestModels.WIDTH, 1);
    assertEquals(Set.of(), among(chain));
    assertEquals(Set.of("x", "y"), among(UnshapedModels.of(chain)));
  }

  @Test
  void among_scalar_isNotOne() throws IOException {
    GraphProto.Builder graph =
        GraphProto.newBuilder()
            .addInput(TestModels.value("x", TensorType.FP32))
            .addNode(TestModels.node("Identity", List.of("x"), "y"))
            .addOutput(TestModels.value("y", TensorType.FP32));
    assertEquals(Set.of(), among(TestModels.model(graph)));
  }

  @Test
  void among_fileCutAnywhere_doesNotThrow() throws IOException {
    byte[] whole = UnshapedModels.of(TestModels.chain(1, 2, 1)).toByteArray();
    Path file = folder.resolve("cut.onnx");
    for (int bytes = 0; bytes < whole.length; bytes++) {
      Files.write(file, Arrays.copyOf(whole, bytes));
      assertTrue(NAMES.containsAll(UnshapedValues.among(NAMES, file)));
    }
  }

  @Test
  void shaped_fillsInWhatIsMissingOnly() {
    ModelProto chain = TestModels.chain(1, 2, 1);
    Map<String, Shape> shapes = Map.of("x", Shape.of(-1, 2), "y", Shape.of(7, 2));
    assertEquals(chain, UnshapedValues.shaped(chain, shapes));
    GraphProto shaped = UnshapedValues.shaped(UnshapedModels.of(chain), shapes).getGraph();
    assertEquals(2, shaped.getInput(0).getType().getTensorType().getShape().getDimCount());
    assertEquals(
        7, shaped.getOutput(0).getType().getTensorType().getShape().getDim(0).getDimValue());
    assertEquals(List.of("x"), UnshapedValues.inputs(UnshapedModels.of(chain).getGraph()));
    assertEquals(List.of(), UnshapedValues.inputs(shaped));
  }
}
