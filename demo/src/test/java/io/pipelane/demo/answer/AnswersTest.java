package io.pipelane.demo.answer;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.pipelane.demo.input.Rectangle;
import io.pipelane.demo.model.DemoModel;
import io.pipelane.demo.protocol.Tensor;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Test;

class AnswersTest {
  private static final int CLASSES = 6_625;

  @Test
  void textReader_mergesRepetitionsAndSplitsAtBlanks() throws Exception {
    TextReader reader = TextReader.load();
    int space = CLASSES - 1;
    int first = 1;

    String text = reader.read(path(first, first, 0, first, space, space, 0));

    String character = reader.read(path(first));
    assertEquals(1, character.length());
    assertEquals(character + character + " ", text);
  }

  @Test
  void textReader_withOtherCharactersThanTheModel_refuses() throws Exception {
    TextReader reader = TextReader.load();
    Tensor output = Tensor.of("y", new float[10], 1, 1, 10);
    assertThrows(IllegalArgumentException.class, () -> reader.read(output));
  }

  @Test
  void detectedText_growsEachCoreAndDropsTheUnsure() {
    float[] map = new float[64 * 64];
    fill(map, new Rectangle(20, 10, 30, 6), 0.9f);
    fill(map, new Rectangle(0, 40, 10, 10), 0.8f);
    fill(map, new Rectangle(40, 40, 5, 5), 0.4f);

    List<DetectedText> texts = DetectedText.of(Tensor.of("y", map, 1, 1, 64, 64));

    assertEquals(
        List.of(new Rectangle(16, 6, 38, 14), new Rectangle(0, 36, 14, 18)),
        texts.stream().map(DetectedText::box).toList());
    assertEquals(0.9, texts.getFirst().confidence(), 1e-6);
  }

  @Test
  void detectedText_doesNotWrapAroundRows() {
    float[] map = new float[8 * 8];
    map[7] = 1;
    map[8] = 1;
    assertEquals(2, DetectedText.of(Tensor.of("y", map, 1, 1, 8, 8)).size());
  }

  @Test
  void textDirection_takesTheLikelier() {
    assertEquals(
        new TextDirection(true, 0.75),
        TextDirection.of(Tensor.of("y", new float[] {.25f, .75f}, 1, 2)));
  }

  @Test
  void sentenceVector_poolsAsTheModelWasTrained() {
    Tensor twoTokens = Tensor.of("h", new float[] {3, 0, 1, 4}, 1, 2, 2);
    Tensor right = Tensor.of("h", new float[] {1, 0}, 1, 1, 2);

    assertEquals(Math.sqrt(0.5), similarity(DemoModel.MINILM, twoTokens, right), 1e-12);
    assertEquals(1, similarity(DemoModel.BGE_SMALL_Q, twoTokens, right), 1e-12);
    assertThrows(
        IllegalArgumentException.class, () -> SentenceVector.of(DemoModel.PPOCR_CLS, right));
  }

  private static double similarity(DemoModel model, Tensor a, Tensor b) {
    return SentenceVector.of(model, a).similarityTo(SentenceVector.of(model, b));
  }

  private static Tensor path(int... best) {
    float[] probabilities = new float[best.length * CLASSES];
    for (int position = 0; position < best.length; position++) {
      probabilities[position * CLASSES + best[position]] = 1;
    }
    return Tensor.of("y", probabilities, 1, best.length, CLASSES);
  }

  private static void fill(float[] map, Rectangle part, float value) {
    for (int y = part.y(); y < part.bottom(); y++) {
      Arrays.fill(map, y * 64 + part.x(), y * 64 + part.right(), value);
    }
  }
}
