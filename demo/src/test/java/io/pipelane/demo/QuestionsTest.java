package io.pipelane.demo;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.demo.answer.DetectedText;
import io.pipelane.demo.answer.TextDirection;
import io.pipelane.demo.answer.TextReader;
import io.pipelane.demo.input.Rectangle;
import io.pipelane.demo.input.TextPage;
import io.pipelane.demo.model.DemoModel;
import io.pipelane.demo.model.DemoRepository;
import io.pipelane.demo.plain.PlainSession;
import io.pipelane.demo.protocol.Tensor;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** The models' answers on plain ONNX Runtime mean what the demo says they mean. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class QuestionsTest {
  private static final int NEAR = 8;

  private Questions questions;
  private Path repository;

  @BeforeAll
  void open(@TempDir Path folder) throws Exception {
    questions = new Questions();
    repository = folder;
    DemoRepository.write(repository, EnumSet.allOf(DemoModel.class));
  }

  @AfterAll
  void close() {
    questions.close();
  }

  @ParameterizedTest
  @EnumSource(names = {"MINILM", "MINILM_Q", "BGE_SMALL_Q"})
  void nearestSentence_isTheOneAboutMusic(DemoModel model) throws Exception {
    String answer = questions.of(model).reading().inWords(answers(model));
    assertTrue(
        answer.startsWith('"' + Questions.CANDIDATES.getFirst() + "\" (similarity 0."), answer);
  }

  @Test
  void detection_findsTheLineAndNothingElse() throws Exception {
    List<DetectedText> texts = DetectedText.of(answers(DemoModel.PPOCR_DET).getFirst().getFirst());
    assertEquals(1, texts.size(), texts.toString());
    Rectangle box = texts.getFirst().box();
    assertEquals(TextPage.INK.x(), box.x(), NEAR, box.toString());
    assertEquals(TextPage.INK.y(), box.y(), NEAR, box.toString());
    assertEquals(TextPage.INK.right(), box.right(), NEAR, box.toString());
    assertEquals(TextPage.INK.bottom(), box.bottom(), NEAR, box.toString());
    assertTrue(texts.getFirst().confidence() > 0.7, texts.toString());
  }

  @Test
  void direction_tellsUprightFromTurned() throws Exception {
    List<List<Tensor>> answers = answers(DemoModel.PPOCR_CLS);
    TextDirection upright = TextDirection.of(answers.getFirst().getFirst());
    TextDirection turned = TextDirection.of(answers.getLast().getFirst());
    assertTrue(!upright.upsideDown() && upright.confidence() > 0.9, upright.toString());
    assertTrue(turned.upsideDown() && turned.confidence() > 0.9, turned.toString());
  }

  @Test
  void recognition_readsWhatIsWritten() throws Exception {
    Tensor output = answers(DemoModel.PPOCR_REC).getFirst().getFirst();
    assertEquals(TextPage.TEXT, TextReader.load().read(output));
  }

  private List<List<Tensor>> answers(DemoModel model) throws Exception {
    List<List<Tensor>> answers = new ArrayList<>();
    try (PlainSession session = new PlainSession(DemoRepository.file(repository, model, 1))) {
      for (List<Tensor> request : questions.of(model).requests()) {
        answers.add(session.run(request));
      }
    }
    return answers;
  }
}
