package io.pipelane.demo;

import io.pipelane.demo.model.DemoModel;
import io.pipelane.demo.protocol.InferenceMessages;
import io.pipelane.demo.report.CurlExample;
import java.io.IOException;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/** Commands that ask a running demo server, ready to paste. */
final class Examples {
  private static final String SENTENCE = "Any model, any time.";
  private static final String BODY_FILE = "example-request.json";

  private Examples() {}

  /** Writes the bodies that are too long for a command line beside the models they are for. */
  static List<CurlExample> write(URI server, Path repository, Questions questions)
      throws IOException {
    String sentenceModel = DemoModel.MINILM_Q.modelName();
    String sentence =
        InferenceMessages.jsonRequest(questions.tokenizer(DemoModel.MINILM_Q).sentence(SENTENCE));
    return List.of(
        CurlExample.get("What the server speaks", server, "/v2"),
        CurlExample.index("Its models and their states", server),
        CurlExample.get("What a model takes and gives", server, "/v2/models/" + sentenceModel),
        CurlExample.infer(
            "The vectors of the tokens of \"" + SENTENCE + "\"", server, sentenceModel, sentence),
        fromFile(
            "Is a line of text upright (first number) or upside down (second)?",
            server,
            repository,
            questions.of(DemoModel.PPOCR_CLS)),
        fromFile(
            "The likelihood of each of 6,625 characters along a line of text",
            server,
            repository,
            questions.of(DemoModel.PPOCR_REC)));
  }

  private static CurlExample fromFile(
      String purpose, URI server, Path repository, Question question) throws IOException {
    String model = question.model().modelName();
    Path file = repository.resolve(model).resolve(BODY_FILE);
    Files.writeString(file, InferenceMessages.jsonRequest(question.requests().getFirst()));
    return CurlExample.infer(purpose, server, model, file);
  }
}
