package io.pipelane.runtime.graph.content;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import ai.onnx.proto.OnnxMl.AttributeProto;
import ai.onnx.proto.OnnxMl.FunctionProto;
import ai.onnx.proto.OnnxMl.GraphProto;
import ai.onnx.proto.OnnxMl.ModelProto;
import ai.onnx.proto.OnnxMl.NodeProto;
import ai.onnx.proto.OnnxMl.SparseTensorProto;
import ai.onnx.proto.OnnxMl.StringStringEntryProto;
import ai.onnx.proto.OnnxMl.TensorProto;
import ai.onnx.proto.OnnxMl.TrainingInfoProto;
import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.runtime.TestModels;
import io.pipelane.runtime.graph.AssumedSizes;
import io.pipelane.runtime.graph.CutSettings;
import io.pipelane.runtime.graph.GateCutter;
import io.pipelane.runtime.graph.ValueShapes;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.channels.Channels;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class ExternalDataTest {
  private static final int BYTES = 4 * 32 * 32;

  @TempDir Path root;
  private Path folder;

  @BeforeEach
  void files() throws IOException {
    folder = Files.createDirectories(root.resolve("model/1"));
    byte[] content = new byte[BYTES + 64];
    content[64] = 42;
    Files.write(folder.resolve("weights.data"), content);
    Files.write(root.resolve("secret"), content);
    Files.createSymbolicLink(folder.resolve("link"), root.resolve("secret"));
  }

  @Test
  void content_insideTheFolder_isRead() throws IOException {
    TensorProto tensor = external("weights.data", "64", Integer.toString(BYTES));
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    TensorContent.of(tensor, folder).writeTo(Channels.newChannel(bytes));
    assertEquals(BYTES, bytes.size());
    assertEquals(42, bytes.toByteArray()[0]);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "../../secret",
        "../../../../../../etc/passwd",
        "/etc/passwd",
        "link",
        "missing",
        ".",
        "",
        "*/_ORT_MEM_ADDR_/*",
        "a\0b"
      })
  void externalFiles_locationOutside_isRefused(String location) {
    ModelFile file = model(external(location, "0", "64"));
    StatusException error =
        assertThrows(StatusException.class, () -> Constants.externalFiles(file));
    assertTrue(String.valueOf(error.getMessage()).contains("\"w\""), error.getMessage());
  }

  @ParameterizedTest
  @CsvSource({
    "65,4096",
    "-1,4096",
    "0,-1",
    "9223372036854775807,4096",
    "1e3,4096",
    "4160,1",
    "0,99999999999999999999"
  })
  void externalFiles_rangeOutside_isRefused(String offset, String length) {
    ModelFile file = model(external("weights.data", offset, length));
    assertThrows(StatusException.class, () -> Constants.externalFiles(file));
  }

  @Test
  void content_lengthThatContradictsTheShape_isRefused() {
    TensorProto tensor = external("weights.data", "0", "100");
    assertThrows(StatusException.class, () -> TensorContent.of(tensor, folder));
  }

  @Test
  void externalFiles_tooDeep_isRefused() throws IOException {
    String deep = "1/2/3/4/5/6/7/8";
    Files.createDirectories(folder.resolve(deep));
    Files.copy(folder.resolve("weights.data"), folder.resolve("1/2/3/4/5/6/7/w"));
    Files.copy(folder.resolve("weights.data"), folder.resolve(deep + "/w"));
    assertEquals(1, Constants.externalFiles(model(external("1/2/3/4/5/6/7/w", "0", "1"))).size());
    ModelFile tooDeep = model(external(deep + "/w", "0", "1"));
    assertThrows(StatusException.class, () -> Constants.externalFiles(tooDeep));
  }

  @Test
  void externalFiles_outsideInAnyAttribute_isRefused() {
    TensorProto outside = external("../../secret", "0", "64");
    GraphProto body = GraphProto.newBuilder().addInitializer(outside).build();
    SparseTensorProto sparse = SparseTensorProto.newBuilder().setIndices(outside).build();
    for (AttributeProto.Builder attribute :
        List.of(
            AttributeProto.newBuilder().setT(outside),
            AttributeProto.newBuilder().addTensors(outside),
            AttributeProto.newBuilder().setSparseTensor(sparse),
            AttributeProto.newBuilder().addSparseTensors(sparse),
            AttributeProto.newBuilder().setG(body),
            AttributeProto.newBuilder().setG(GraphProto.getDefaultInstance()).addGraphs(body))) {
      NodeProto node = NodeProto.newBuilder().addAttribute(attribute).build();
      ModelProto empty = TestModels.model(GraphProto.newBuilder());
      List<ModelProto> models =
          List.of(
              TestModels.model(GraphProto.newBuilder().addNode(node)),
              empty.toBuilder().addFunctions(FunctionProto.newBuilder().addNode(node)).build(),
              empty.toBuilder()
                  .addFunctions(FunctionProto.newBuilder().addAttributeProto(attribute))
                  .build(),
              empty.toBuilder()
                  .addTrainingInfo(
                      TrainingInfoProto.newBuilder()
                          .setAlgorithm(GraphProto.newBuilder().addNode(node)))
                  .build());
      for (ModelProto model : models) {
        ModelFile file = new ModelFile(model, folder);
        assertThrows(StatusException.class, () -> Constants.externalFiles(file), model::toString);
      }
    }
  }

  @Test
  void externalFiles_namesTheFiles() throws IOException {
    ModelFile file = model(external("weights.data", "0", "4096"));
    assertEquals(
        Set.of(folder.resolve("weights.data").toRealPath()), Constants.externalFiles(file));
  }

  @ParameterizedTest
  @CsvSource({"-1,4", "9223372036854775807,9223372036854775807"})
  void content_impossibleShape_isRefused(long first, long second) {
    TensorProto tensor =
        TensorProto.newBuilder().setName("w").setDataType(1).addDims(first).addDims(second).build();
    assertThrows(StatusException.class, () -> TensorContent.of(tensor, folder));
  }

  /** The files have holes instead of bytes; nothing of them is read. */
  @Test
  void cut_bodiesThatHoldMoreThanAMessage_isRefusedBeforeTheyAreRead() throws IOException {
    long bytes = 1L << 30;
    GraphProto.Builder body = GraphProto.newBuilder();
    for (String name : List.of("a", "b")) {
      try (RandomAccessFile file = new RandomAccessFile(folder.resolve(name).toFile(), "rw")) {
        file.setLength(bytes);
      }
      body.addInitializer(
          external(name, "0", Long.toString(bytes)).toBuilder().setName(name).build());
    }
    NodeProto node =
        TestModels.node("If", List.of("flag"), "y")
            .addAttribute(AttributeProto.newBuilder().setName("then_branch").setG(body))
            .build();
    ModelFile file = new ModelFile(TestModels.model(GraphProto.newBuilder().addNode(node)), folder);
    for (Executable edit :
        List.<Executable>of(
            () -> GateCutter.cut(file, Map.of(), new CutSettings(1, 8)),
            () -> ValueShapes.question(file, Map.of(), AssumedSizes.LEAST))) {
      StatusException error = assertThrows(StatusException.class, edit);
      assertEquals(Status.TOO_LARGE, error.status());
      assertTrue(String.valueOf(error.getMessage()).contains("2147483648"), error.getMessage());
    }
  }

  private ModelFile model(TensorProto tensor) {
    ModelProto model = TestModels.model(GraphProto.newBuilder().addInitializer(tensor));
    return new ModelFile(model, folder);
  }

  private static TensorProto external(String location, String offset, String length) {
    return TensorProto.newBuilder()
        .setName("w")
        .setDataType(1)
        .addDims(32)
        .addDims(32)
        .setDataLocation(TensorProto.DataLocation.EXTERNAL)
        .addExternalData(entry("location", location))
        .addExternalData(entry("offset", offset))
        .addExternalData(entry("length", length))
        .build();
  }

  private static StringStringEntryProto entry(String key, String value) {
    return StringStringEntryProto.newBuilder().setKey(key).setValue(value).build();
  }
}
