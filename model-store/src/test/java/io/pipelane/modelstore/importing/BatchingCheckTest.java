package io.pipelane.modelstore.importing;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import ai.onnx.proto.OnnxMl.AttributeProto;
import ai.onnx.proto.OnnxMl.GraphProto;
import ai.onnx.proto.OnnxMl.ModelProto;
import io.pipelane.modelstore.Batching;
import io.pipelane.modelstore.Batching.Verdict;
import io.pipelane.runtime.OrtEnvironment;
import io.pipelane.runtime.OrtLibrary;
import io.pipelane.runtime.OrtSession;
import io.pipelane.runtime.SessionSettings;
import io.pipelane.runtime.TensorType;
import io.pipelane.runtime.TestModels;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

@Timeout(60)
class BatchingCheckTest {
  private static final Path LIBRARY =
      OrtLibrary.locate(
          Optional.empty(), Path.of(System.getProperty("java.io.tmpdir"), "pipelane-test"));

  @TempDir Path folder;

  @Test
  void of_rowsThatAreIndependent_agrees() throws IOException {
    Batching batching = check(TestModels.branches(1));
    assertEquals(Verdict.AGREES, batching.verdict(), batching.toString());
    assertTrue(batching.agrees() && batching.possible());
  }

  @Test
  void of_dynamicQuantisation_changesAnswersAsTheLargestRowSetsTheScale() throws IOException {
    GraphProto.Builder graph =
        GraphProto.newBuilder()
            .addInput(TestModels.batch("x", 8))
            .addNode(
                TestModels.node("DynamicQuantizeLinear", List.of("x"), "q")
                    .addOutput("scale")
                    .addOutput("zero"))
            .addNode(TestModels.node("DequantizeLinear", List.of("q", "scale", "zero"), "y"))
            .addOutput(TestModels.batch("y", 8));
    Batching batching = check(TestModels.model(graph));
    assertEquals(Verdict.CHANGES_ANSWERS, batching.verdict(), batching.toString());
    assertTrue(!batching.agrees() && batching.possible());
    assertTrue(batching.toString().contains("relative error"), batching.toString());
  }

  @Test
  void of_largestOfTheBatchIsTakenOff_changesAnswers() throws IOException {
    GraphProto.Builder graph =
        GraphProto.newBuilder()
            .addInput(TestModels.batch("x", 8))
            .addNode(
                TestModels.node("ReduceMax", List.of("x"), "most")
                    .addAttribute(
                        AttributeProto.newBuilder()
                            .setName("axes")
                            .setType(AttributeProto.AttributeType.INTS)
                            .addInts(0)))
            .addNode(TestModels.node("Sub", List.of("x", "most"), "y"))
            .addOutput(TestModels.batch("y", 8));
    assertEquals(Verdict.CHANGES_ANSWERS, check(TestModels.model(graph)).verdict());
  }

  @Test
  void of_outputWithoutRows_isNotApplicable() throws IOException {
    GraphProto.Builder graph =
        GraphProto.newBuilder()
            .addInput(TestModels.batch("x", 8))
            .addNode(TestModels.node("ReduceMax", List.of("x"), "y"))
            .addOutput(TestModels.value("y", TensorType.FP32, 1, 1));
    Batching batching = check(TestModels.model(graph));
    assertEquals(Verdict.NOT_APPLICABLE, batching.verdict());
    assertTrue(batching.detail().contains("\"y\""), batching.detail());
  }

  @Test
  void of_fixedBatch_isNotApplicable() throws IOException {
    Batching batching = check(TestModels.identity());
    assertEquals(Verdict.NOT_APPLICABLE, batching.verdict());
    assertTrue(batching.detail().contains("no open first dimension"), batching.detail());
  }

  private Batching check(ModelProto model) throws IOException {
    Path file = TestModels.write(model, folder.resolve("model.onnx"));
    try (OrtEnvironment environment = OrtEnvironment.open(LIBRARY, new ImportMemory());
        OrtSession session = environment.open(file, SessionSettings.plain(1))) {
      return BatchingCheck.of(environment, session, 4, 1e-5);
    }
  }
}
