package io.pipelane.demo;

import io.pipelane.demo.answer.DetectedText;
import io.pipelane.demo.answer.SentenceVector;
import io.pipelane.demo.answer.TextDirection;
import io.pipelane.demo.answer.TextReader;
import io.pipelane.demo.input.Rectangle;
import io.pipelane.demo.input.SentenceTokenizer;
import io.pipelane.demo.input.TextPage;
import io.pipelane.demo.model.DemoModel;
import io.pipelane.demo.protocol.Tensor;
import java.io.IOException;
import java.util.EnumMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** The questions that the demo asks each of its models. Safe for any thread. */
public final class Questions implements AutoCloseable {
  /** The sentence that is compared with the {@link #CANDIDATES}. */
  public static final String SENTENCE = "How do I learn to play the guitar?";

  /** The first is the nearest in meaning. */
  public static final List<String> CANDIDATES =
      List.of(
          "Lessons for string instruments start on Monday.",
          "The stock market fell sharply today.",
          "Bread rises because yeast makes gas.");

  private final Map<DemoModel, SentenceTokenizer> tokenizers = new EnumMap<>(DemoModel.class);
  private final TextPage page;
  private final TextReader reader;

  /** Loads tokenizers, the page and the recogniser's characters from the class path. */
  public Questions() throws IOException {
    page = TextPage.load();
    reader = TextReader.load();
    for (DemoModel model : DemoModel.sentenceModels()) {
      tokenizers.put(model, new SentenceTokenizer(model));
    }
  }

  /** What the demo asks a model. */
  public Question of(DemoModel model) {
    return switch (model) {
      case MINILM, MINILM_Q, BGE_SMALL_Q -> nearestSentence(model);
      case PPOCR_DET ->
          new Question(
              model,
              "Where on a page of 640 x 640 pixels is there text?",
              List.of(page.forDetection()),
              answers -> places(DetectedText.of(only(answers.getFirst()))));
      case PPOCR_CLS ->
          new Question(
              model,
              "Is a line of text upright? And the same line turned by 180 degrees?",
              List.of(page.forDirection(false), page.forDirection(true)),
              answers ->
                  "The first is %s, the second is %s."
                      .formatted(
                          direction(TextDirection.of(only(answers.getFirst()))),
                          direction(TextDirection.of(only(answers.getLast())))));
      case PPOCR_REC ->
          new Question(
              model,
              "What does the line say? (Drawn: \"%s\".)".formatted(TextPage.TEXT),
              List.of(page.forRecognition()),
              answers -> "It says \"%s\".".formatted(reader.read(only(answers.getFirst()))));
    };
  }

  private Question nearestSentence(DemoModel model) {
    SentenceTokenizer tokenizer = tokenizer(model);
    return new Question(
        model,
        "Which of %d sentences is nearest in meaning to: %s".formatted(CANDIDATES.size(), SENTENCE),
        Stream.concat(Stream.of(SENTENCE), CANDIDATES.stream()).map(tokenizer::sentence).toList(),
        answers -> nearest(answers.stream().map(a -> SentenceVector.of(model, only(a))).toList()));
  }

  /**
   * The tokenizer of a sentence model.
   *
   * @throws IllegalArgumentException for the other models
   */
  public SentenceTokenizer tokenizer(DemoModel model) {
    SentenceTokenizer tokenizer = tokenizers.get(model);
    if (tokenizer == null) {
      throw new IllegalArgumentException(model + " is no sentence model");
    }
    return tokenizer;
  }

  /** The page that the PP-OCR models are asked about. */
  public TextPage page() {
    return page;
  }

  @Override
  public void close() {
    tokenizers.values().forEach(SentenceTokenizer::close);
  }

  private static String nearest(List<SentenceVector> vectors) {
    List<Double> similarities =
        vectors.stream().skip(1).map(vectors.getFirst()::similarityTo).toList();
    double highest = similarities.stream().max(Double::compare).orElseThrow();
    int nearest = similarities.indexOf(highest);
    String others =
        similarities.stream()
            .filter(similarity -> similarity != highest)
            .map(Questions::twoDigits)
            .collect(Collectors.joining(" and "));
    return "\"%s\" (similarity %s; the others %s)"
        .formatted(CANDIDATES.get(nearest), twoDigits(highest), others);
  }

  private static String places(List<DetectedText> texts) {
    if (texts.isEmpty()) {
      return "Nowhere.";
    }
    return texts.stream()
        .map(
            text ->
                "From %s, confidence %s; it was drawn from %s."
                    .formatted(
                        corners(text.box()), twoDigits(text.confidence()), corners(TextPage.INK)))
        .collect(Collectors.joining(" "));
  }

  private static String corners(Rectangle box) {
    return "(%d, %d) to (%d, %d)".formatted(box.x(), box.y(), box.right(), box.bottom());
  }

  private static String direction(TextDirection direction) {
    return "%s (confidence %s)"
        .formatted(
            direction.upsideDown() ? "upside down" : "upright", twoDigits(direction.confidence()));
  }

  private static String twoDigits(double value) {
    return String.format(Locale.ROOT, "%.2f", value);
  }

  private static Tensor only(List<Tensor> outputs) {
    if (outputs.size() != 1) {
      throw new IllegalStateException("one output expected, got " + outputs.size());
    }
    return outputs.getFirst();
  }
}
