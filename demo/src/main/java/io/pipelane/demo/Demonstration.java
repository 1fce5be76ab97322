package io.pipelane.demo;

import ai.onnxruntime.OrtException;
import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.demo.model.DemoModel;
import io.pipelane.demo.model.DemoRepository;
import io.pipelane.demo.plain.PlainSession;
import io.pipelane.demo.plain.Reference;
import io.pipelane.demo.plain.RelativeDifference;
import io.pipelane.demo.protocol.InferenceClient;
import io.pipelane.demo.protocol.InferenceClient.IndexEntry;
import io.pipelane.demo.protocol.Tensor;
import io.pipelane.demo.report.DemoReport;
import io.pipelane.demo.report.LossReport;
import io.pipelane.demo.report.ModelRow;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Optional;
import java.util.function.LongSupplier;

/**
 * The course of the demo: asks a running server about each demo model, compares, measures and
 * reports.
 */
final class Demonstration {
  private static final Duration POLL_INTERVAL = Duration.ofMillis(50);
  private static final Duration IMPORT_LIMIT = Duration.ofMinutes(5);
  private static final int COLD_RUNS = 5;
  private static final int WARM_RUNS = 9;
  private static final Duration MEASURING_LIMIT = Duration.ofSeconds(1);

  private final Path repository;
  private final DemoServer server;
  private final InferenceClient client;
  private final Questions questions;
  private final DemoReport report;
  private final LongSupplier nanoClock;

  /**
   * A demonstration.
   *
   * @param repository holds version 1 of every demo model
   * @param server started
   */
  Demonstration(
      Path repository,
      DemoServer server,
      InferenceClient client,
      Questions questions,
      DemoReport report,
      LongSupplier nanoClock) {
    this.repository = repository;
    this.server = server;
    this.client = client;
    this.questions = questions;
    this.report = report;
    this.nanoClock = nanoClock;
  }

  /**
   * Runs it.
   *
   * @param start when the server was started, by the clock
   * @return whether every answer equals a plain session's
   * @throws StatusException when a model cannot be imported
   */
  boolean run(long start) throws IOException, InterruptedException, OrtException {
    awaitImports(start);
    report.ready(server.device(), Duration.ofNanos(nanoClock.getAsLong() - start));
    Reference reference = server.reference();
    List<ModelRow> rows = new ArrayList<>();
    for (DemoModel model : DemoModel.values()) {
      rows.add(demonstrate(questions.of(model), reference));
    }
    report.models(rows, reference);
    report.ledger(server.ledger());
    Optional<LossReport> loss =
        new WorkerLoss(server, client, nanoClock).demonstrate(questions.of(DemoModel.MINILM));
    loss.ifPresent(report::loss);
    return loss.map(LossReport::isSound).orElse(true) && rows.stream().allMatch(ModelRow::isEqual);
  }

  private void awaitImports(long start) throws IOException, InterruptedException {
    while (true) {
      List<IndexEntry> index = client.index();
      List<String> missing = new ArrayList<>();
      for (DemoModel model : DemoModel.values()) {
        boolean ready = false;
        for (IndexEntry entry : index) {
          if (entry.name().equals(model.modelName())) {
            ready |= entry.state().equals("READY");
            failWhenRefused(entry);
          }
        }
        if (!ready) {
          missing.add(model.modelName());
        }
      }
      if (missing.isEmpty()) {
        return;
      }
      if (nanoClock.getAsLong() - start > IMPORT_LIMIT.toNanos()) {
        throw new StatusException(
            Status.DEADLINE_EXCEEDED,
            "not READY after %d s: %s".formatted(IMPORT_LIMIT.toSeconds(), missing));
      }
      Thread.sleep(POLL_INTERVAL);
    }
  }

  private static void failWhenRefused(IndexEntry entry) {
    if (entry.state().equals("UNAVAILABLE")) {
      throw new StatusException(
          Status.INTERNAL,
          "the server refused %s version %s: %s"
              .formatted(entry.name(), entry.version(), entry.reason()));
    }
  }

  private ModelRow demonstrate(Question question, Reference reference)
      throws IOException, InterruptedException, OrtException {
    String model = question.model().modelName();
    List<List<Tensor>> answers = new ArrayList<>();
    for (List<Tensor> request : question.requests()) {
      answers.add(client.infer(model, request));
    }
    report.answer(model, question.asked(), question.reading().inWords(answers));

    List<Tensor> request = question.requests().getFirst();
    List<List<Tensor>> timed = new ArrayList<>();
    double cold = medianMillis(COLD_RUNS, true, model, request, timed);
    double warm = medianMillis(WARM_RUNS, false, model, request, timed);
    DemoServer.Weights weights = weights(model);
    return new ModelRow(
        model,
        weights.bytes(),
        weights.inPlaceBytes(),
        weights.groups(),
        cold,
        warm,
        difference(question, reference, answers, timed),
        reference.tolerance(question.model().isQuantized()));
  }

  /** Repeats a request, but begins no run after {@link #MEASURING_LIMIT}. */
  private double medianMillis(
      int runs, boolean cold, String model, List<Tensor> request, List<List<Tensor>> answers)
      throws IOException, InterruptedException {
    List<Double> millis = new ArrayList<>();
    long start = nanoClock.getAsLong();
    do {
      if (cold) {
        server.evict(model);
      }
      long begin = nanoClock.getAsLong();
      answers.add(client.infer(model, request));
      millis.add((nanoClock.getAsLong() - begin) / 1e6);
    } while (millis.size() < runs && nanoClock.getAsLong() - start < MEASURING_LIMIT.toNanos());
    Collections.sort(millis);
    return millis.get(millis.size() / 2);
  }

  /** The largest difference of any answer, first or timed, from a plain session's. */
  private double difference(
      Question question, Reference reference, List<List<Tensor>> answers, List<List<Tensor>> timed)
      throws OrtException {
    double largest = 0;
    try (PlainSession plain =
        reference.open(DemoRepository.file(repository, question.model(), 1))) {
      for (int i = 0; i < answers.size(); i++) {
        List<Tensor> expected = plain.run(question.requests().get(i));
        largest = Math.max(largest, RelativeDifference.of(answers.get(i), expected));
        if (i == 0) {
          for (List<Tensor> answer : timed) {
            largest = Math.max(largest, RelativeDifference.of(answer, expected));
          }
        }
      }
    }
    return largest;
  }

  private DemoServer.Weights weights(String model) {
    return server.weights().stream()
        .filter(weights -> weights.model().equals(model))
        .findFirst()
        .orElseThrow(() -> new IllegalStateException("the server tells no weights of " + model));
  }
}
