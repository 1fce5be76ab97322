package io.pipelane.modelstore.importing;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

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
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

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
    Batching batching = check(RowGraphs.dynamicQuantisation());
    assertEquals(Verdict.CHANGES_ANSWERS, batching.verdict(), batching.toString());
    assertTrue(!batching.agrees() && batching.possible());
    assertTrue(batching.toString().contains("relative error"), batching.toString());
  }

  @Test
  void of_largestOfTheBatchIsTakenOff_changesAnswers() throws IOException {
    assertEquals(Verdict.CHANGES_ANSWERS, check(RowGraphs.less("ReduceMax")).verdict());
  }

  @ParameterizedTest
  @EnumSource(names = {"INT64", "BOOL", "UINT8", "BF16"})
  void of_meanOfAColumn_changesAnswers(TensorType type) throws IOException {
    Batching batching = check(RowGraphs.lessMeanOf(type));
    assertEquals(Verdict.CHANGES_ANSWERS, batching.verdict(), batching.toString());
  }

  @Test
  void of_meanDifferenceOfTwoColumns_changesAnswers() throws IOException {
    Batching batching = check(RowGraphs.lessMeanDifference());
    assertEquals(Verdict.CHANGES_ANSWERS, batching.verdict(), batching.toString());
  }

  @Test
  void of_outputWithoutRows_isNotApplicable() throws IOException {
    Batching batching = check(RowGraphs.outputWithoutRows());
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
