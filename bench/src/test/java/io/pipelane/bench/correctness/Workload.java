package io.pipelane.bench.correctness;

import io.pipelane.demo.Questions;
import io.pipelane.demo.model.DemoModel;
import io.pipelane.demo.model.DemoRepository;
import io.pipelane.demo.plain.PlainSession;
import io.pipelane.demo.plain.RelativeDifference;
import io.pipelane.demo.protocol.InferenceMessages;
import io.pipelane.demo.protocol.InferenceMessages.BinaryBody;
import io.pipelane.demo.protocol.Tensor;
import io.pipelane.loadgen.settings.ModelRequests;
import io.pipelane.loadgen.settings.PreparedRequest;
import io.pipelane.loadgen.settings.Response;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.EnumSet;
import java.util.List;
import java.util.Optional;
import java.util.Random;

/** Two different versions of every demo model, several inputs for each, and the right answers. */
final class Workload {
  private static final int VERSIONS = 2;

  /** Answers of two versions to the same question differ by this much at least. */
  private static final double CLEARLY_DIFFERENT = 1e-3;

  private final List<ModelRequests> requests = new ArrayList<>();
  private final List<List<List<Tensor>>> answers = new ArrayList<>();

  /** Writes the models and has plain sessions answer. */
  Workload(Path repository, long seed) throws Exception {
    DemoRepository.write(repository, EnumSet.allOf(DemoModel.class));
    Random random = new Random(seed);
    List<DemoModel> popularity = new ArrayList<>(List.of(DemoModel.values()));
    Collections.shuffle(popularity, random);
    try (Questions questions = new Questions()) {
      for (DemoModel model : popularity) {
        add(repository, model, inputs(model, questions, random));
      }
    }
  }

  private void add(Path repository, DemoModel model, List<List<Tensor>> inputs) throws Exception {
    SecondVersion.write(
        DemoRepository.file(repository, model, 1), DemoRepository.file(repository, model, 2));
    List<PreparedRequest> variants = inputs.stream().map(Workload::request).toList();
    for (int version = 1; version <= VERSIONS; version++) {
      requests.add(
          new ModelRequests(
              model.modelName() + "/" + version,
              ModelRequests.modelPath(model.modelName(), "" + version) + "/infer",
              variants));
      answers.add(plainAnswers(DemoRepository.file(repository, model, version), inputs));
    }
    for (int variant = 0; variant < inputs.size(); variant++) {
      double difference =
          RelativeDifference.of(
              answers.getLast().get(variant), answers.get(answers.size() - 2).get(variant));
      if (!(difference > CLEARLY_DIFFERENT)) {
        throw new IllegalStateException(
            "the versions of %s differ by only %s".formatted(model, difference));
      }
    }
  }

  private static List<List<Tensor>> inputs(DemoModel model, Questions questions, Random random) {
    List<List<Tensor>> inputs = new ArrayList<>();
    switch (model) {
      case MINILM, MINILM_Q, BGE_SMALL_Q -> {
        inputs.addAll(questions.of(model).requests());
        inputs.add(questions.tokenizer(model).passage(40));
      }
      case PPOCR_CLS -> inputs.addAll(questions.of(model).requests());
      case PPOCR_REC -> {
        inputs.add(questions.page().forRecognition());
        inputs.add(noise(random, 48, 96));
      }
      case PPOCR_DET -> {
        inputs.add(noise(random, 96, 96));
        inputs.add(noise(random, 64, 160));
      }
    }
    return inputs;
  }

  private static List<Tensor> noise(Random random, int height, int width) {
    float[] values = new float[3 * height * width];
    for (int i = 0; i < values.length; i++) {
      values[i] = (float) random.nextGaussian();
    }
    return List.of(Tensor.of("x", values, 1, 3, height, width));
  }

  private static PreparedRequest request(List<Tensor> inputs) {
    BinaryBody body = InferenceMessages.binaryRequest(inputs);
    return PreparedRequest.binary(body.bytes(), body.jsonLength());
  }

  private static List<List<Tensor>> plainAnswers(Path file, List<List<Tensor>> inputs)
      throws Exception {
    List<List<Tensor>> answers = new ArrayList<>();
    try (PlainSession session = new PlainSession(file)) {
      for (List<Tensor> input : inputs) {
        answers.add(session.run(input));
      }
    }
    return answers;
  }

  /** What to send: the versions of a model are neighbours in popularity. */
  List<ModelRequests> requests() {
    return List.copyOf(requests);
  }

  /** What is wrong with a response. */
  Optional<String> complaint(Response response) {
    if (response.status() != 200) {
      return Optional.of("status " + response.status());
    }
    byte[] body = new byte[response.body().remaining()];
    response.body().get(body);
    try {
      double difference =
          RelativeDifference.of(
              InferenceMessages.binaryOutputs(new BinaryBody(body, response.jsonBytes())),
              answers.get(response.model()).get(response.variant()));
      return difference <= RelativeDifference.EQUAL
          ? Optional.empty()
          : Optional.of(
              "%s, input %d, differs by %s"
                  .formatted(
                      requests.get(response.model()).model(), response.variant(), difference));
    } catch (IOException e) {
      return Optional.of(e.toString());
    }
  }
}
