package io.pipelane.loadgen.zoo.graph;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import ai.onnx.proto.OnnxMl.ModelProto;
import ai.onnx.proto.OnnxMl.TensorProto;
import ai.onnx.proto.OnnxMl.TensorProto.DataType;
import java.io.IOException;
import java.nio.ByteOrder;
import java.nio.FloatBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class ModelWriterTest {
  /** More values than are drawn at a time, and no multiple of that. */
  private static final int COUNT = 300_001;

  @TempDir private Path folder;

  @Test
  void write_givesAFileThatParses() throws IOException {
    ModelProto model = ModelProto.parseFrom(write("a", 1));

    assertEquals(8, model.getIrVersion());
    assertEquals(17, model.getOpsetImport(0).getVersion());
    assertEquals(graph().graph().getNodeList(), model.getGraph().getNodeList());
    assertEquals(List.of("shape", "first", "second", "groups"), names(model));
    assertEquals(List.of(1L, (long) COUNT), tensor(model, 1).getDimsList());
  }

  @Test
  void write_drawsValuesFromTheirRange() throws IOException {
    FloatBuffer values = values(tensor(ModelProto.parseFrom(write("a", 1)), 1));

    assertEquals(COUNT, values.remaining());
    double sum = 0;
    while (values.hasRemaining()) {
      float value = values.get();
      assertTrue(value >= 1 && value < 3, () -> "not in [1, 3): " + value);
      sum += value;
    }
    assertEquals(2, sum / COUNT, 0.01);
  }

  @Test
  void write_drawsTheMeanOfAGroupTowardsZero() throws IOException {
    FloatBuffer values = values(tensor(ModelProto.parseFrom(write("a", 1)), 3));
    float bound = Range.afterRectifier(2).high();
    double kept = 0;

    while (values.hasRemaining()) {
      float sum = values.get() + values.get();
      kept += Math.abs(sum);
    }

    double withoutCentring = bound * 2 / 3; // the mean of |a + b| for a and b from [-1, 1)
    assertEquals((1 - Range.CENTRING) * withoutCentring, kept / 1000, 0.05 * withoutCentring);
  }

  @Test
  void write_givesTheSameBytesForTheSameSeed() throws IOException {
    assertArrayEquals(write("a", 7), write("b", 7));
  }

  @Test
  void write_givesOtherWeightsForAnotherSeedOrName() throws IOException {
    ModelProto one = ModelProto.parseFrom(write("a", 1));
    ModelProto other = ModelProto.parseFrom(write("b", 2));

    assertEquals(tensor(one, 0), tensor(other, 0));
    assertNotEquals(tensor(one, 1).getRawData(), tensor(other, 1).getRawData());
    assertNotEquals(tensor(one, 1).getRawData(), tensor(one, 2).getRawData());
  }

  @Test
  void write_leavesNothingWhenItFails() throws IOException {
    Path file = folder.resolve("m/1/model.onnx");
    Files.createDirectories(file.resolve("in the way"));

    assertThrows(IOException.class, () -> writer(1).write(graph(), file));
    assertFalse(Files.exists(file.resolveSibling("model.onnx.part")));
  }

  private byte[] write(String name, long seed) throws IOException {
    Path file = folder.resolve(name).resolve("model.onnx");
    long size = writer(seed).write(graph(), file);
    byte[] bytes = Files.readAllBytes(file);
    assertEquals(size, bytes.length);
    return bytes;
  }

  private static ModelWriter writer(long seed) {
    return new ModelWriter(new WeightSource(seed));
  }

  private static ZooGraph graph() {
    GraphBuilder graph = new GraphBuilder("test");
    String input = graph.input("x", DataType.FLOAT, GraphBuilder.BATCH, COUNT);
    graph.integers("shape", 0, -1);
    String first = graph.weight("first", Range.around(2, 1), 1, COUNT);
    String second = graph.weight("second", Range.around(2, 1), 1, COUNT);
    graph.weight("groups", Range.afterRectifier(2), 1000, 2);
    graph.node("Add", "y", List.of(input, graph.node("Add", "sum", List.of(first, second))));
    graph.output("y", GraphBuilder.BATCH, COUNT);
    return graph.build(17);
  }

  private static List<String> names(ModelProto model) {
    return model.getGraph().getInitializerList().stream().map(TensorProto::getName).toList();
  }

  private static TensorProto tensor(ModelProto model, int index) {
    return model.getGraph().getInitializer(index);
  }

  private static FloatBuffer values(TensorProto tensor) {
    return tensor
        .getRawData()
        .asReadOnlyByteBuffer()
        .order(ByteOrder.LITTLE_ENDIAN)
        .asFloatBuffer();
  }
}
