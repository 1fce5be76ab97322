package io.pipelane.modelstore.importing;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import ai.onnx.proto.OnnxMl.ModelProto;
import io.pipelane.modelstore.Padding;
import io.pipelane.modelstore.Padding.Verdict;
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
class PaddingCheckTest {
  private static final Path LIBRARY =
      OrtLibrary.locate(
          Optional.empty(), Path.of(System.getProperty("java.io.tmpdir"), "pipelane-test"));

  @TempDir Path folder;

  @Test
  void of_rowsThatAreIndependent_isHarmless() throws IOException {
    Padding padding = check(TestModels.branches(1));
    assertEquals(Verdict.HARMLESS, padding.verdict(), padding.toString());
  }

  @Test
  void of_meanOverTheBatch_changesAnswers() throws IOException {
    Padding padding = check(RowGraphs.less("ReduceMean"));
    assertEquals(Verdict.CHANGES_ANSWERS, padding.verdict(), padding.toString());
    assertTrue(padding.detail().startsWith("relative error"), padding.detail());
  }

  @ParameterizedTest
  @EnumSource(names = {"INT64", "BOOL", "UINT8", "BF16"})
  void of_meanOfAColumn_changesAnswers(TensorType type) throws IOException {
    Padding padding = check(RowGraphs.lessMeanOf(type));
    assertEquals(Verdict.CHANGES_ANSWERS, padding.verdict(), padding.toString());
  }

  @Test
  void of_meanDifferenceOfTwoColumns_changesAnswers() throws IOException {
    Padding padding = check(RowGraphs.lessMeanDifference());
    assertEquals(Verdict.CHANGES_ANSWERS, padding.verdict(), padding.toString());
  }

  @Test
  void of_dynamicQuantisation_isHarmlessBecauseARealRowIsRepeated() throws IOException {
    assertEquals(Verdict.HARMLESS, check(RowGraphs.dynamicQuantisation()).verdict());
  }

  @Test
  void of_outputWithoutRows_isNotApplicable() throws IOException {
    Padding padding = check(RowGraphs.outputWithoutRows());
    assertEquals(Verdict.NOT_APPLICABLE, padding.verdict());
    assertTrue(padding.detail().contains("\"y\""), padding.detail());
  }

  @Test
  void of_fixedBatch_isNotApplicable() throws IOException {
    Padding padding = check(TestModels.identity());
    assertEquals(Verdict.NOT_APPLICABLE, padding.verdict());
    assertTrue(padding.detail().contains("no open first dimension"), padding.detail());
  }

  private Padding check(ModelProto model) throws IOException {
    Path file = TestModels.write(model, folder.resolve("model.onnx"));
    try (OrtEnvironment environment = OrtEnvironment.open(LIBRARY, new ImportMemory());
        OrtSession session = environment.open(file, SessionSettings.plain(1))) {
      return PaddingCheck.of(environment, session, 4, 1e-5);
    }
  }
}
