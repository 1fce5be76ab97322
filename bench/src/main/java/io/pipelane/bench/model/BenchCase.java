package io.pipelane.bench.model;

import io.pipelane.demo.Questions;
import io.pipelane.demo.model.DemoModel;
import io.pipelane.demo.model.DemoRepository;
import io.pipelane.demo.protocol.Tensor;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;

/**
 * A model and one input for it, the same in every run.
 *
 * @param name for people and for {@code --case}
 * @param model as it is registered
 */
public record BenchCase(String name, String model, Path file, List<Tensor> inputs) {
  private static final List<Integer> TOKENS = List.of(16, 128);

  public BenchCase {
    inputs = List.copyOf(inputs);
  }

  /** Writes the models of all cases into a repository and describes the cases. */
  public static List<BenchCase> prepare(Path repository) throws IOException {
    DemoRepository.write(repository, EnumSet.allOf(DemoModel.class));
    NoopModel.write(repository);
    List<BenchCase> cases = new ArrayList<>();
    try (Questions questions = new Questions()) {
      for (DemoModel model : DemoModel.sentenceModels()) {
        for (int tokens : TOKENS) {
          List<Tensor> inputs = questions.tokenizer(model).passage(tokens);
          cases.add(of(repository, model, tokens + " tokens", inputs));
        }
      }
      var page = questions.page();
      cases.add(of(repository, DemoModel.PPOCR_REC, "48x320", page.forRecognition()));
      cases.add(of(repository, DemoModel.PPOCR_DET, "640x640", page.forDetection()));
      cases.add(of(repository, DemoModel.PPOCR_CLS, "48x192", page.forDirection(false)));
    }
    cases.add(noop(repository));
    return cases;
  }

  /** MiniLM with 16 tokens; writes the model into a repository. */
  public static BenchCase shortSentence(Path repository) throws IOException {
    DemoRepository.write(repository, EnumSet.of(DemoModel.MINILM));
    try (Questions questions = new Questions()) {
      List<Tensor> inputs = questions.tokenizer(DemoModel.MINILM).passage(TOKENS.getFirst());
      return of(repository, DemoModel.MINILM, TOKENS.getFirst() + " tokens", inputs);
    }
  }

  private static BenchCase of(Path repository, DemoModel model, String size, List<Tensor> inputs) {
    return new BenchCase(
        model.modelName() + " " + size,
        model.modelName(),
        DemoRepository.file(repository, model, 1),
        inputs);
  }

  private static BenchCase noop(Path repository) {
    return new BenchCase(
        NoopModel.NAME, NoopModel.NAME, NoopModel.file(repository), NoopModel.inputs());
  }
}
