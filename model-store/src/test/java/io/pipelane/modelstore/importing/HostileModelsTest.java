package io.pipelane.modelstore.importing;

import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import ai.onnx.proto.OnnxMl.AttributeProto;
import ai.onnx.proto.OnnxMl.FunctionProto;
import ai.onnx.proto.OnnxMl.GraphProto;
import ai.onnx.proto.OnnxMl.ModelProto;
import ai.onnx.proto.OnnxMl.NodeProto;
import ai.onnx.proto.OnnxMl.StringStringEntryProto;
import ai.onnx.proto.OnnxMl.TensorProto;
import com.google.protobuf.ByteString;
import com.google.protobuf.CodedOutputStream;
import io.pipelane.config.StatusException;
import io.pipelane.runtime.OrtLibrary;
import io.pipelane.runtime.SessionSettings.Optimization;
import io.pipelane.runtime.TestModels;
import io.pipelane.runtime.graph.AssumedSizes;
import io.pipelane.runtime.graph.CutSettings;
import io.pipelane.runtime.graph.GateCutter;
import io.pipelane.runtime.graph.ValueShapes;
import io.pipelane.runtime.graph.WeightSelection;
import io.pipelane.runtime.graph.content.Constants;
import io.pipelane.runtime.graph.content.ModelFile;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** What the import process does with files that mean harm, short of what ends it. */
@Timeout(60)
class HostileModelsTest {
  private static final Path NATIVES =
      Path.of(System.getProperty("java.io.tmpdir"), "pipelane-test");

  @TempDir Path folder;

  @Test
  void run_truncatedAnywhere_isRefused() throws IOException {
    byte[] sound = TestModels.chain(1, 8, 1).toByteArray();
    for (int length = 0; length < sound.length; length += Math.max(1, sound.length / 12)) {
      assertRefused(Arrays.copyOf(sound, length));
    }
  }

  @Test
  void run_hugeClaimedShape_isRefused() throws IOException {
    TensorProto claimed =
        TestModels.chain(1, 32, 1).getGraph().getInitializer(0).toBuilder()
            .clearDims()
            .addDims(1L << 40)
            .addDims(1L << 40)
            .build();
    assertRefused(withWeight(claimed).toByteArray());
  }

  @Test
  void run_externalDataOutside_isRefused() throws IOException {
    for (String location : List.of("../../etc/passwd", "/etc/passwd")) {
      TensorProto tensor =
          TestModels.chain(1, 32, 1).getGraph().getInitializer(0).toBuilder()
              .clearRawData()
              .setDataLocation(TensorProto.DataLocation.EXTERNAL)
              .addExternalData(
                  StringStringEntryProto.newBuilder().setKey("location").setValue(location))
              .build();
      assertRefused(withWeight(tensor).toByteArray());
    }
  }

  @Test
  void run_externalDataOutsideInAFunction_isRefused() throws IOException {
    TensorProto outside =
        TensorProto.newBuilder()
            .setName("secret")
            .setDataType(1)
            .addDims(4)
            .setDataLocation(TensorProto.DataLocation.EXTERNAL)
            .addExternalData(
                StringStringEntryProto.newBuilder().setKey("location").setValue("/etc/passwd"))
            .build();
    NodeProto constant =
        TestModels.node("Constant", List.of(), "y")
            .addAttribute(
                AttributeProto.newBuilder()
                    .setName("value")
                    .setType(AttributeProto.AttributeType.TENSOR)
                    .setT(outside))
            .build();
    ModelProto model =
        TestModels.chain(1, 32, 1).toBuilder()
            .addFunctions(FunctionProto.newBuilder().setDomain("d").setName("f").addNode(constant))
            .build();
    assertRefused(model.toByteArray());
  }

  @Test
  void run_cycleOrUnknownOperator_isRefused() throws IOException {
    GraphProto.Builder cycle =
        GraphProto.newBuilder()
            .addInput(TestModels.batch("x", 32))
            .addNode(TestModels.node("Add", List.of("x", "b"), "a"))
            .addNode(TestModels.node("Add", List.of("x", "a"), "b"))
            .addOutput(TestModels.batch("b", 32));
    assertRefused(TestModels.model(cycle).toByteArray());
    GraphProto.Builder unknown =
        GraphProto.newBuilder()
            .addInput(TestModels.batch("x", 32))
            .addNode(TestModels.node("Frobnicate", List.of("x"), "y"))
            .addOutput(TestModels.batch("y", 32));
    assertRefused(TestModels.model(unknown).toByteArray());
  }

  @Test
  void run_outputsThatCannotBeAskedFor_isRefused() throws IOException {
    GraphProto.Builder none =
        GraphProto.newBuilder()
            .addInput(TestModels.batch("x", 32))
            .addNode(TestModels.node("Relu", List.of("x"), "y"));
    assertRefused(TestModels.model(none).toByteArray(), "it has no outputs");
    GraphProto.Builder zero =
        GraphProto.newBuilder()
            .addInput(TestModels.batch("x", 32))
            .addNode(TestModels.node("Relu", List.of("x"), "y\0z"))
            .addOutput(TestModels.batch("y\0z", 32));
    assertRefused(TestModels.model(zero).toByteArray(), "\"y\\0z\"");
  }

  @Test
  void run_bodiesNestedTenThousandDeep_isRefused() throws IOException {
    ByteString graph = ByteString.EMPTY;
    for (int depth = 0; depth < 10_000; depth++) {
      ByteString attribute = field(AttributeProto.G_FIELD_NUMBER, graph);
      ByteString node = field(5, attribute);
      graph = field(GraphProto.NODE_FIELD_NUMBER, node);
    }
    assertRefused(field(ModelProto.GRAPH_FIELD_NUMBER, graph).toByteArray());
  }

  @Test
  void parse_mutatedModels_areCutOrRefused() throws IOException {
    List<byte[]> seeds =
        List.of(
            TestModels.conditional(1).toByteArray(),
            TestModels.quantized(2, 1).toByteArray(),
            TestModels.constantNodes(1, 1).toByteArray());
    Path file = folder.resolve("model.onnx");
    int refused = 0;
    for (long seed = 0; seed < 1500; seed++) {
      Random random = new Random(seed);
      byte[] bytes = seeds.get(random.nextInt(seeds.size())).clone();
      int window = random.nextBoolean() ? bytes.length : Math.min(bytes.length, 600);
      for (int i = random.nextInt(6); i >= 0; i--) {
        bytes[random.nextInt(window)] = (byte) random.nextInt(256);
      }
      Files.write(file, bytes);
      try {
        ModelFile model = Constants.toInitializers(ModelFile.read(file));
        Constants.externalFiles(model);
        Map<String, TensorProto> weights = WeightSelection.DEFAULT.select(model.graph());
        ValueShapes.question(model, weights, AssumedSizes.USUAL);
        CutSettings cuts = new CutSettings(1, 8).withLongestSegment(Duration.ofNanos(1));
        GateCutter.cut(model, weights, cuts);
      } catch (StatusException | IllegalStateException e) {
        refused++;
      } catch (RuntimeException e) {
        throw new AssertionError("seed " + seed, e);
      }
    }
    assertTrue(refused > 0);
  }

  private static ByteString field(int number, ByteString content) {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    CodedOutputStream output = CodedOutputStream.newInstance(bytes);
    try {
      output.writeBytes(number, content);
      output.flush();
    } catch (IOException e) {
      throw new java.io.UncheckedIOException(e);
    }
    return ByteString.copyFrom(bytes.toByteArray());
  }

  private static ModelProto withWeight(TensorProto tensor) {
    ModelProto model = TestModels.chain(1, 32, 1);
    return model.toBuilder()
        .setGraph(model.getGraph().toBuilder().setInitializer(0, tensor))
        .build();
  }

  private void assertRefused(byte[] model) throws IOException {
    assertRefused(model, "");
  }

  private void assertRefused(byte[] model, String reason) throws IOException {
    Path file = Files.write(folder.resolve("model.onnx"), model);
    Path out = Files.createTempDirectory(folder, "out");
    ImportJob job =
        new ImportJob(
            file,
            out,
            OrtLibrary.locate(Optional.empty(), NATIVES),
            Optimization.ALL,
            CutSettings.DEFAULT,
            ImportTarget.processor());
    StatusException error = assertThrows(StatusException.class, job::run);
    String message = String.valueOf(error.getMessage());
    assertTrue(!message.isBlank() && message.contains(reason), message);
  }
}
