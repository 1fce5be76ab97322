package io.pipelane.runtime.graph;

import static org.junit.jupiter.api.Assertions.assertEquals;

import ai.onnx.proto.OnnxMl.GraphProto;
import ai.onnx.proto.OnnxMl.ModelProto;
import ai.onnx.proto.OnnxMl.TensorProto;
import ai.onnx.proto.OnnxMl.TensorShapeProto.Dimension;
import ai.onnx.proto.OnnxMl.ValueInfoProto;
import io.pipelane.runtime.Shape;
import io.pipelane.runtime.TensorSpec;
import io.pipelane.runtime.TensorType;
import io.pipelane.runtime.TestModels;
import io.pipelane.runtime.graph.content.ModelFile;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What open dimensions become in the graph that is asked for its values' shapes. */
class AssumedSizesTest {
  private static final long OPEN = 0;

  /** As a session tells it. */
  private static final long OPEN_SIZE = -1;

  @TempDir Path folder;

  /**
   * A model of one input, whose dimensions that are {@link #OPEN} have a name instead of a size.
   */
  private List<Long> asked(AssumedSizes sizes, long... dimensions) {
    ValueInfoProto.Builder input = ValueInfoProto.newBuilder().setName("x");
    var type = input.getTypeBuilder().getTensorTypeBuilder();
    type.setElemType(TensorProto.DataType.FLOAT.getNumber());
    for (long dimension : dimensions) {
      Dimension.Builder built = Dimension.newBuilder();
      type.getShapeBuilder()
          .addDim(dimension == OPEN ? built.setDimParam("open") : built.setDimValue(dimension));
    }
    GraphProto.Builder graph =
        GraphProto.newBuilder().addInput(input).addNode(TestModels.node("Relu", List.of("x"), "y"));
    ModelProto question =
        ValueShapes.question(new ModelFile(TestModels.model(graph), folder), Map.of(), sizes);
    return question
        .getGraph()
        .getInput(0)
        .getType()
        .getTensorType()
        .getShape()
        .getDimList()
        .stream()
        .map(Dimension::getDimValue)
        .toList();
  }

  @Test
  void usual_aPictureIsLargerThanATextIsLong() {
    assertEquals(List.of(1L, 3L, 640L, 640L), asked(AssumedSizes.USUAL, OPEN, 3, OPEN, OPEN));
    assertEquals(List.of(1L, 128L), asked(AssumedSizes.USUAL, OPEN, OPEN));
  }

  @Test
  void knownDimensions_areLeftAsTheyAre() {
    assertEquals(List.of(8L, 3L, 48L, 640L), asked(AssumedSizes.USUAL, 8, 3, 48, OPEN));
  }

  @Test
  void shareOfSmall_isThatOfTheInputThatShrinksMost() {
    TensorSpec text = spec(OPEN_SIZE, OPEN_SIZE);
    TensorSpec picture = spec(OPEN_SIZE, 3, OPEN_SIZE, OPEN_SIZE);
    assertEquals(1, AssumedSizes.USUAL.shareOfSmall(List.of(spec(8, 128))));
    assertEquals(1 / 8.0, AssumedSizes.USUAL.shareOfSmall(List.of(text, spec(1))));
    assertEquals(1 / 25.0, AssumedSizes.USUAL.shareOfSmall(List.of(text, picture)), 1e-9);
    assertEquals(1, AssumedSizes.LEAST.shareOfSmall(List.of(picture)), "none is smaller");
  }

  private static TensorSpec spec(long... dimensions) {
    return new TensorSpec("x", TensorType.FP32, Shape.of(dimensions));
  }

  @Test
  void least_everyOpenDimensionIsOne() {
    assertEquals(List.of(1L, 3L, 1L, 1L), asked(AssumedSizes.LEAST, OPEN, 3, OPEN, OPEN));
  }
}
