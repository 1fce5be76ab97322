package io.pipelane.demo.answer;

import io.pipelane.demo.model.DemoModel;
import io.pipelane.demo.protocol.Tensor;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;

/** A reader of the text in the recogniser's output, given the characters the recogniser knows. */
public final class TextReader {
  private final List<String> classes;

  private TextReader(List<String> classes) {
    this.classes = classes;
  }

  /** Loads the characters that came with the recogniser. */
  public static TextReader load() throws IOException {
    List<String> classes = new ArrayList<>();
    classes.add("");
    try (InputStream file = DemoModel.openCharacters()) {
      new String(file.readAllBytes(), StandardCharsets.UTF_8).lines().forEach(classes::add);
    }
    classes.add(" ");
    return new TextReader(classes);
  }

  /**
   * The most likely text, read greedily as CTC has it (Graves et al., ICML 2006, section 3.2): the
   * best class at each position, repetitions once, blanks (class 0) left out.
   *
   * @param probabilities FP32 [1, positions, classes]
   */
  public String read(Tensor probabilities) {
    int positions = Math.toIntExact(probabilities.shape().dimension(1));
    int width = Math.toIntExact(probabilities.shape().dimension(2));
    if (width != classes.size()) {
      throw new IllegalArgumentException(
          "the model tells " + width + " classes apart, its characters are " + classes.size());
    }
    float[] values = probabilities.floats();
    StringBuilder text = new StringBuilder();
    int previous = 0;
    for (int position = 0; position < positions; position++) {
      int best = best(values, position * width, width);
      if (best != previous) {
        text.append(classes.get(best));
      }
      previous = best;
    }
    return text.toString();
  }

  private static int best(float[] values, int offset, int count) {
    int best = 0;
    for (int i = 1; i < count; i++) {
      if (values[offset + i] > values[offset + best]) {
        best = i;
      }
    }
    return best;
  }
}
