package io.pipelane.modelstore.importing;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import ai.onnx.proto.OnnxMl.AttributeProto;
import ai.onnx.proto.OnnxMl.GraphProto;
import ai.onnx.proto.OnnxMl.ModelProto;
import ai.onnx.proto.OnnxMl.NodeProto;
import ai.onnx.proto.OnnxMl.StringStringEntryProto;
import ai.onnx.proto.OnnxMl.TensorProto;
import com.google.protobuf.ByteString;
import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.modelstore.ImportedModel;
import io.pipelane.modelstore.Plan;
import io.pipelane.runtime.OrtLibrary;
import io.pipelane.runtime.RepackedWeight;
import io.pipelane.runtime.SessionSettings.Optimization;
import io.pipelane.runtime.TensorType;
import io.pipelane.runtime.TestModels;
import io.pipelane.runtime.graph.CutSettings;
import io.pipelane.runtime.graph.InPlaceWeight;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.Set;
import java.util.zip.CRC32C;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

@Timeout(60)
class ImportJobTest {
  private static final Path LIBRARY =
      OrtLibrary.locate(
          Optional.empty(), Path.of(System.getProperty("java.io.tmpdir"), "pipelane-test"));

  @TempDir Path folder;

  @Test
  void run_externalData_isStreamedAndVerified() throws IOException {
    ModelProto inline = TestModels.chain(3, TestModels.WIDTH, 1);
    GraphProto.Builder graph = inline.getGraph().toBuilder();
    Path version = Files.createDirectories(folder.resolve("m/1"));
    for (int i = 0; i < graph.getInitializerCount(); i++) {
      TensorProto tensor = graph.getInitializer(i);
      graph.setInitializer(i, external(tensor, version.resolve("part" + i)));
    }
    Plan fromFiles = run(TestModels.model(graph), version);
    assertEquals(3, fromFiles.repacked().size(), fromFiles.notes().toString());
    assertTrue(fromFiles.notes().getFirst().startsWith("verified"), fromFiles.notes().toString());
    Plan fromInline = run(inline, Files.createDirectories(folder.resolve("m/2")));
    assertEquals(fromInline, fromFiles, "where bytes lay makes no difference");
  }

  @Test
  void run_externalDataOfBodies_isVerified() throws IOException {
    Path version = version("1");
    ModelProto.Builder model = TestModels.conditional(1).toBuilder();
    for (NodeProto.Builder node : model.getGraphBuilder().getNodeBuilderList()) {
      for (AttributeProto.Builder body : node.getAttributeBuilderList()) {
        for (TensorProto.Builder weight : body.getGBuilder().getInitializerBuilderList()) {
          TensorProto moved = external(weight.build(), version.resolve("inner"));
          weight.clear().mergeFrom(moved);
        }
      }
    }
    Plan plan = run(model.build(), version);
    assertTrue(plan.notes().getFirst().startsWith("verified"), plan.notes().toString());
    assertEquals(run(TestModels.conditional(1), version("2")), plan);
  }

  /** ONNX Runtime writes them as constants and as nodes. */
  @Test
  void run_constantNodesOfBodiesInBodies_areVerified() throws IOException {
    NodeProto.Builder constant =
        NodeProto.newBuilder()
            .setOpType("Constant")
            .addOutput("inner")
            .addAttribute(
                AttributeProto.newBuilder()
                    .setName("value")
                    .setType(AttributeProto.AttributeType.TENSOR)
                    .setT(TestModels.weight("", new Random(1), 64, 64)));
    GraphProto.Builder product =
        GraphProto.newBuilder()
            .addNode(constant)
            .addNode(TestModels.node("MatMul", List.of("x", "inner"), "product"))
            .addOutput(TestModels.batch("product", 64));
    GraphProto.Builder sum =
        GraphProto.newBuilder()
            .addNode(TestModels.node("Add", List.of("x", "x"), "sum"))
            .addOutput(TestModels.batch("sum", 64));
    GraphProto.Builder choice =
        GraphProto.newBuilder()
            .addNode(choice("chosen", product, sum))
            .addOutput(TestModels.batch("chosen", 64));
    GraphProto.Builder graph =
        GraphProto.newBuilder()
            .addInput(TestModels.batch("x", 64))
            .addInput(TestModels.value("flag", TensorType.BOOL))
            .addNode(choice("y", choice, sum))
            .addOutput(TestModels.batch("y", 64));
    Plan plan = run(TestModels.model(graph), version("1"));
    assertTrue(plan.notes().getFirst().startsWith("verified"), plan.notes().toString());
  }

  @Test
  void run_gatesBehindALoop_keepItsWeightsStreamed() throws IOException {
    GraphProto.Builder body =
        GraphProto.newBuilder()
            .setName("body")
            .addInput(TestModels.value("round", TensorType.INT64))
            .addInput(TestModels.value("going", TensorType.BOOL))
            .addInput(TestModels.batch("value", 64))
            .addNode(TestModels.node("Identity", List.of("going"), "go_on"))
            .addNode(TestModels.node("Tanh", List.of("value"), "next"))
            .addOutput(TestModels.value("go_on", TensorType.BOOL))
            .addOutput(TestModels.batch("next", 64));
    GraphProto.Builder graph =
        GraphProto.newBuilder()
            .addInput(TestModels.batch("x", 64))
            .addInput(TestModels.value("rounds", TensorType.INT64))
            .addInitializer(TestModels.weight("w0", new Random(1), 64, 64))
            .addInitializer(TestModels.weight("w1", new Random(2), 64, 64))
            .addNode(TestModels.node("MatMul", List.of("x", "w0"), "first"))
            .addNode(
                TestModels.node("Loop", List.of("rounds", "", "first"), "looped")
                    .addAttribute(TestModels.graph("body", body)))
            .addNode(TestModels.node("MatMul", List.of("looped", "w1"), "y"))
            .addOutput(TestModels.batch("y", 64));
    Plan plan = run(TestModels.model(graph), version("1"));
    assertTrue(plan.notes().getFirst().startsWith("verified"), plan.notes().toString());
    assertEquals(2, plan.weights().size());
  }

  private static NodeProto choice(
      String output, GraphProto.Builder then, GraphProto.Builder otherwise) {
    return TestModels.node("If", List.of("flag"), output)
        .addAttribute(TestModels.graph("then_branch", then.setName("then")))
        .addAttribute(TestModels.graph("else_branch", otherwise.setName("else")))
        .build();
  }

  @Test
  void run_variantsWithOtherWeights_shareTheirStructure() throws IOException {
    Plan one = run(TestModels.branches(1), Files.createDirectories(folder.resolve("m/1")));
    Plan two = run(TestModels.branches(2), Files.createDirectories(folder.resolve("m/2")));
    assertEquals(one.structureHash(), two.structureHash());
    assertEquals(one.weights(), two.weights());
    assertEquals(one.repacked(), two.repacked());
    assertEquals(6, one.repacked().size(), one.notes().toString());
  }

  @Test
  void run_checksum_isOfTheWholeWeightsFile() throws IOException {
    Path version = Files.createDirectories(folder.resolve("m/1"));
    Plan plan = run(TestModels.halfStored(2, 1), version);
    byte[] bytes = Files.readAllBytes(out(version).resolve(ImportJob.WEIGHTS));
    CRC32C crc = new CRC32C();
    crc.update(bytes);
    assertEquals(plan.weightChecksum(), crc.getValue());
    assertEquals(plan.weightBytes(), bytes.length);
  }

  @Test
  void run_repackedWeights_lieInTheirSegmentsInOrder() throws IOException {
    Path version = Files.createDirectories(folder.resolve("m/1"));
    Plan plan = run(TestModels.branches(1), version);
    assertEquals(6, plan.repacked().size(), plan.notes().toString());
    assertEquals(List.of(), plan.weights());
    long end = 0;
    for (RepackedWeight weight : plan.repacked()) {
      assertTrue(weight.offset() >= end, weight.name());
      end = weight.offset() + weight.packedBytes();
      Plan.Segment segment = plan.segments().get(weight.segment());
      assertTrue(weight.offset() >= segment.offset() && end <= segment.end(), weight.name());
    }
    CRC32C crc = new CRC32C();
    crc.update(Files.readAllBytes(out(version).resolve(ImportJob.WEIGHTS)));
    assertEquals(plan.weightChecksum(), crc.getValue());
  }

  @Test
  void run_equalWeights_haveEachTheirRepackedForm() throws IOException {
    // ONNX Runtime keeps one repacked form of equal weights; their sessions are built of others.
    GraphProto.Builder graph = TestModels.chain(3, TestModels.WIDTH, 1).getGraph().toBuilder();
    ByteString same = graph.getInitializer(0).getRawData();
    for (TensorProto.Builder weight : graph.getInitializerBuilderList()) {
      weight.setRawData(same);
    }
    Path version = Files.createDirectories(folder.resolve("m/1"));
    Plan plan = run(TestModels.model(graph), version);
    assertEquals(3, plan.repacked().size(), plan.notes().toString());
    Plan other = run(TestModels.chain(3, TestModels.WIDTH, 2), version("2"));
    assertEquals(other.repacked(), plan.repacked());
  }

  @Test
  void run_weightsThatCannotBeRepacked_stayAsTheyAre() throws IOException {
    Plan shared = run(TestModels.sharedWeight(1), version("1"));
    assertEquals(List.of("w1"), shared.repacked().stream().map(RepackedWeight::name).toList());
    assertEquals(1, shared.weights().size());
    Plan conditional = run(TestModels.conditional(1), version("2"));
    assertEquals(List.of(), conditional.repacked());
    assertEquals(3, conditional.weights().size());
  }

  @Test
  void run_table_isReadInPlaceFromAFileOfItsOwn() throws IOException {
    ModelProto model = TestModels.embedding(2, 1);
    Plan plan = run(model, version("1"));
    String notes = plan.notes().toString();
    assertTrue(plan.notes().getFirst().startsWith("verified"), notes);
    assertEquals(List.of("table"), plan.inPlace().stream().map(InPlaceWeight::name).toList());
    assertEquals(2, plan.repacked().size(), notes);
    TensorProto table =
        model.getGraph().getInitializerList().stream()
            .filter(constant -> constant.getName().equals("table"))
            .findFirst()
            .orElseThrow();
    byte[] file = Files.readAllBytes(out(version("1")).resolve(ImportedModel.IN_PLACE));
    assertArrayEquals(table.getRawData().toByteArray(), file);
    assertEquals(file.length, plan.inPlaceBytes());
    Plan variant = run(TestModels.embedding(2, 2), version("2"));
    assertEquals(plan.structureHash(), variant.structureHash());
    assertEquals(plan.inPlace(), variant.inPlace());
  }

  private Path version(String name) throws IOException {
    return Files.createDirectories(folder.resolve("m").resolve(name));
  }

  /** What takes long is cut although no weight is read there; open dimensions count as one. */
  @Test
  void run_longStretchWithoutWeights_isCutByTime() throws IOException {
    ModelProto chain = fourNodes(-1, 3 << 17);
    Plan plan = run(chain, version("1"), Duration.ofNanos(250_000));
    assertEquals(4, plan.segments().size());
    for (Plan.Segment segment : plan.segments()) {
      assertEquals(0, segment.byteSize());
      assertEquals(0.3125, segment.estimatedNanos() / 1e6, 0.0125);
    }
    assertEquals(1, run(chain, version("2")).segments().size());
  }

  private static ModelProto fourNodes(long... dimensions) {
    GraphProto.Builder graph =
        GraphProto.newBuilder()
            .addInput(TestModels.value("x", TensorType.FP32, dimensions))
            .addOutput(TestModels.value("y", TensorType.FP32, dimensions));
    for (int i = 0; i < 4; i++) {
      String read = i == 0 ? "x" : "t" + i;
      graph.addNode(TestModels.node("Tanh", List.of(read), i == 3 ? "y" : "t" + (i + 1)));
    }
    return TestModels.model(graph);
  }

  /** Three gates are worth it with 128 tokens; with 16, of which the model takes as many, not. */
  @Test
  void run_inputsOfOpenSize_areCutAsIsWorthItForSmallOnes() throws IOException {
    Duration limit = Duration.ofNanos(250_000);
    assertEquals(4, run(fourNodes(1, 128, 3 << 10), version("1"), limit).segments().size());
    assertEquals(1, run(fourNodes(1, -1, 3 << 10), version("2"), limit).segments().size());
  }

  /** It adds three numbers, or one to each of three: not to 128. */
  @Test
  void run_openDimensionIsNeverOfTheUsualSize_estimatesNothing() throws IOException {
    GraphProto.Builder graph =
        GraphProto.newBuilder()
            .addInput(TestModels.value("x", TensorType.FP32, 1, -1))
            .addInitializer(TestModels.weight("w", new Random(1), 1, 3))
            .addNode(TestModels.node("Add", List.of("x", "w"), "y"))
            .addOutput(TestModels.value("y", TensorType.FP32, 1, 3));
    Plan plan = run(TestModels.model(graph), version("1"));
    assertEquals(List.of(0L), plan.segments().stream().map(Plan.Segment::estimatedNanos).toList());
    Plan usual = run(TestModels.chain(1, 4, 1), version("2"));
    assertTrue(usual.segments().getFirst().estimatedNanos() > 0);
  }

  /** What it picks is as large as the values say, and so is what follows. */
  @Test
  void run_sizesThatValuesSay_estimatesNothing() throws IOException {
    GraphProto.Builder graph =
        GraphProto.newBuilder()
            .addInput(TestModels.value("x", TensorType.FP32, -1, 4))
            .addNode(TestModels.node("NonZero", List.of("x"), "y"))
            .addOutput(TestModels.value("y", TensorType.INT64, 2, -1));
    Plan plan = run(TestModels.model(graph), version("1"));
    assertEquals(List.of(0L), plan.segments().stream().map(Plan.Segment::estimatedNanos).toList());
  }

  @Test
  void run_randomAnswers_areNotVerified() throws IOException {
    GraphProto.Builder graph =
        GraphProto.newBuilder()
            .addInput(TestModels.value("x", TensorType.FP32, 4))
            .addNode(TestModels.node("RandomNormalLike", List.of("x"), "y"))
            .addOutput(TestModels.value("y", TensorType.FP32, 4));
    Plan plan = run(TestModels.model(graph), Files.createDirectories(folder.resolve("m/1")));
    assertEquals("not verified: answers differ from run to run", plan.notes().getFirst());
  }

  @Test
  void run_largeAnswers_areNotVerified() throws IOException {
    ByteBuffer shape = ByteBuffer.allocate(16).order(ByteOrder.LITTLE_ENDIAN);
    TensorProto rows =
        TensorProto.newBuilder()
            .setName("shape")
            .setDataType(TensorType.INT64.onnx())
            .addDims(2)
            .setRawData(ByteString.copyFrom(shape.putLong(5 << 20).putLong(4).flip()))
            .build();
    GraphProto.Builder graph =
        GraphProto.newBuilder()
            .addInitializer(rows)
            .addInput(TestModels.value("x", TensorType.FP32, 4))
            .addNode(TestModels.node("Expand", List.of("x", "shape"), "y"))
            .addOutput(TestModels.value("y", TensorType.FP32, 5 << 20, 4));
    Plan plan = run(TestModels.model(graph), Files.createDirectories(folder.resolve("m/1")));
    assertEquals(
        "not verified: outputs of 80MiB are more than the 64MiB that are compared",
        plan.notes().getFirst());
  }

  /** What cannot be run here for lack of memory is not known to be unverifiable. */
  @Test
  void run_answersThatMemoryIsTooSmallFor_isRefusedAndLeavesNoPlan() throws IOException {
    ByteBuffer shape = ByteBuffer.allocate(16).order(ByteOrder.LITTLE_ENDIAN);
    TensorProto rows =
        TensorProto.newBuilder()
            .setName("shape")
            .setDataType(TensorType.INT64.onnx())
            .addDims(2)
            .setRawData(ByteString.copyFrom(shape.putLong(1L << 44).putLong(4).flip()))
            .build();
    GraphProto.Builder graph =
        GraphProto.newBuilder()
            .addInitializer(rows)
            .addInput(TestModels.value("x", TensorType.FP32, 4))
            .addNode(TestModels.node("Expand", List.of("x", "shape"), "wide"))
            .addNode(TestModels.node("ReduceSum", List.of("wide"), "y"))
            .addOutput(TestModels.value("y", TensorType.FP32, 1, 1));
    Path version = version("1");
    StatusException error =
        assertThrows(StatusException.class, () -> run(TestModels.model(graph), version));
    assertEquals(Status.INSUFFICIENT_MEMORY, error.status(), error.getMessage());
    assertFalse(Files.exists(out(version).resolve(ImportJob.PLAN)));
  }

  @Test
  void run_outputThatIsThereTwice_isRefusedByItsName() throws IOException {
    GraphProto.Builder graph = TestModels.chain(1, 4, 1).getGraph().toBuilder();
    graph.addOutput(graph.getOutput(0));
    Path version = version("1");
    StatusException error =
        assertThrows(StatusException.class, () -> run(TestModels.model(graph), version));
    assertEquals(Status.INVALID_ARGUMENT, error.status());
    assertEquals("two of its outputs are named \"y\"; leave one out", error.getMessage());
  }

  @Test
  void culprits_areNamedByWeightElseNodeElseOperator() {
    GraphProto graph = TestModels.sharedWeight(1).getGraph();
    Set<String> streamed = Set.of("w0", "w1");
    assertEquals(Set.of("w1"), Culprits.of(graph, streamed, "Node (MatMul_b) failed"));
    assertEquals(Set.of("w0", "w1"), Culprits.of(graph, streamed, "MatMul needs a constant"));
    assertEquals(Set.of(), Culprits.of(graph, streamed, "MatMulInteger needs a constant"));
  }

  /** The same constant with its bytes in a file of their own beside the model. */
  private static TensorProto external(TensorProto tensor, Path file) throws IOException {
    Files.write(file, tensor.getRawData().toByteArray());
    return tensor.toBuilder()
        .clearRawData()
        .setDataLocation(TensorProto.DataLocation.EXTERNAL)
        .addExternalData(
            StringStringEntryProto.newBuilder()
                .setKey("location")
                .setValue(file.getFileName().toString()))
        .build();
  }

  private Plan run(ModelProto model, Path version) throws IOException {
    return run(model, version, CutSettings.UNLIMITED);
  }

  private Plan run(ModelProto model, Path version, Duration longestSegment) throws IOException {
    Path file = TestModels.write(model, version.resolve("model.onnx"));
    Files.createDirectories(out(version));
    new ImportJob(
            file,
            out(version),
            LIBRARY,
            Optimization.ALL,
            new CutSettings(1, 16).withLongestSegment(longestSegment),
            ImportTarget.processor())
        .run();
    return PlanFile.read(out(version).resolve(ImportJob.PLAN));
  }

  private Path out(Path version) {
    return folder.resolve("out" + version.getFileName());
  }
}
