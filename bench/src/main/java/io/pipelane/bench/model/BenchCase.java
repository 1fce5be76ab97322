package io.pipelane.bench.model;

import io.pipelane.demo.Questions;
import io.pipelane.demo.input.TextPage;
import io.pipelane.demo.model.DemoModel;
import io.pipelane.demo.model.DemoRepository;
import io.pipelane.demo.protocol.Tensor;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;

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

  /** All cases, MiniLM with 16 tokens first; their models are not written yet. */
  public static List<BenchCase> all(Path repository) throws IOException {
    List<BenchCase> cases = new ArrayList<>();
    try (Questions questions = new Questions()) {
      for (DemoModel model : DemoModel.sentenceModels()) {
        for (int tokens : TOKENS) {
          List<Tensor> inputs = questions.tokenizer(model).passage(tokens);
          cases.add(of(repository, model, tokens + " tokens", inputs));
        }
      }
      TextPage page = questions.page();
      cases.add(of(repository, DemoModel.PPOCR_REC, "48x320", page.forRecognition()));
      cases.add(of(repository, DemoModel.PPOCR_DET, "640x640", page.forDetection()));
      cases.add(of(repository, DemoModel.PPOCR_CLS, "48x192", page.forDirection(false)));
    }
    cases.add(noop(repository));
    return cases;
  }

  /** Writes the models of some cases, where they are not there yet. */
  public static void write(Path repository, List<BenchCase> cases) throws IOException {
    Set<String> names = cases.stream().map(BenchCase::model).collect(Collectors.toSet());
    Set<DemoModel> models = EnumSet.allOf(DemoModel.class);
    models.removeIf(model -> !names.contains(model.modelName()));
    DemoRepository.write(repository, models);
    if (names.contains(NoopModel.NAME)) {
      NoopModel.write(repository);
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
