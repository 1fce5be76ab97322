package io.pipelane.loadgen;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.loadgen.arrival.Arrivals;
import io.pipelane.loadgen.experiment.LoadPlan;
import io.pipelane.loadgen.experiment.Scenario;
import io.pipelane.loadgen.file.FilesRead;
import io.pipelane.loadgen.request.InputSettings;
import io.pipelane.loadgen.request.InputShapes;
import io.pipelane.loadgen.request.ModelMetadata;
import io.pipelane.loadgen.request.RequestGenerator;
import io.pipelane.loadgen.server.ServerClient;
import io.pipelane.loadgen.settings.Endpoint;
import io.pipelane.loadgen.settings.LoadTest;
import io.pipelane.loadgen.settings.ModelRequests;
import io.pipelane.loadgen.settings.ResponseCheck;
import io.pipelane.loadgen.settings.Trace;
import io.pipelane.loadgen.settings.Window;
import io.pipelane.loadgen.trace.TraceFile;
import io.pipelane.loadgen.trace.TracePlan;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Mixin;

/** All options that decide what is sent when, and the scenario they stand for. */
final class ScenarioOptions {
  @Mixin LoadOptions load = new LoadOptions();
  @Mixin ModelOptions model = new ModelOptions();
  @Mixin WindowOptions window = new WindowOptions();
  @Mixin InputOptions input = new InputOptions();

  private final FilesRead read = new FilesRead();
  private @Nullable Map<String, String> readThen;
  private @Nullable TracePlan trace;

  /**
   * A prepared measurement of one server.
   *
   * @param rowsPerRequest on the average
   */
  record Prepared(Scenario scenario, LoadPlan plan, double rowsPerRequest) {}

  /**
   * Has {@link #prepare} fail unless it reads exactly the files of another test, unchanged.
   *
   * @param digests of the other test's files, as {@link #filesRead} tells them; null for any files
   */
  void requireFiles(@Nullable Map<String, String> digests) {
    readThen = digests == null ? null : new TreeMap<>(digests);
  }

  /** SHA-256 of the files that were read, by path. */
  Map<String, String> filesRead() {
    return read.digests();
  }

  /**
   * Reads the trace or the intervals, if there are any, and checks what can be checked without a
   * server.
   */
  void check() {
    load.requireConsistent();
    load.readIntervals(read);
    if (load.loop.trace != null) {
      if (model.isGiven()) {
        throw new IllegalArgumentException(
            "--trace names the models; leave out --model, --zipf, --uniform and --switch-storm");
      }
      trace = TracePlan.of(TraceFile.read(load.loop.trace, read));
    }
    requireOneBatch();
    if (window.percentile != null && !window.hasWindows() && load.latencyThreshold == null) {
      throw new IllegalArgumentException(
          "--percentile belongs to windows (--measurement-interval, --measurement-mode) or to"
              + " --latency-threshold");
    }
    load.plan(window.percentile, replayed());
    window();
    model.requireDistinct();
    model.choice().shares(1);
    input.settings(null, window.seed);
  }

  /** Whoever makes the requests says how many rows they have. */
  private void requireOneBatch() {
    if (input.batch != null && (trace != null || !input.isMade())) {
      throw new IllegalArgumentException(
          "-b is for made-up inputs: files of --input-data and --trace say themselves how many rows"
              + " a request has");
    }
    if (trace != null && !input.isMade() && trace.largestBatch() > 1) {
      throw new IllegalArgumentException(
          "--trace: batches are for made-up inputs; leave them out of a trace that is replayed with"
              + " files of --input-data");
    }
  }

  /** Asks a server for the inputs of all models. */
  List<ModelMetadata> metadata(ServerClient client) throws InterruptedException {
    List<String> names = model.models;
    if (trace != null) {
      names = List.copyOf(trace.batches().keySet());
    } else if (names.isEmpty()) {
      names = client.readyModels();
    }
    if (names.isEmpty()) {
      throw new StatusException(
          Status.INVALID_ARGUMENT, "the server has no model that is ready; name one with --model");
    }
    LoadTest.requireAdmissible(names.size());
    List<ModelMetadata> models = new ArrayList<>();
    for (String name : names) {
      models.add(client.model(name, model.version));
    }
    return models;
  }

  /** Makes the requests for a server. */
  Prepared prepare(Endpoint endpoint, boolean isDjl, List<ModelMetadata> models) {
    InputSettings inputs = input.settings(prescribed(endpoint, isDjl), window.seed);
    InputShapes.requireUsed(inputs.shapes(), models);
    int largest = trace == null ? input.batch() : trace.largestBatch();
    if (largest > 1 && input.isMade()) {
      InputShapes.requireBatches(models, largest);
    }
    RequestGenerator generator = new RequestGenerator(inputs, read);
    List<ModelRequests> requests = new ArrayList<>();
    for (ModelMetadata metadata : models) {
      requests.add(
          trace == null
              ? generator.generate(metadata)
              : generator.generate(
                  metadata, trace.batches().getOrDefault(metadata.name(), List.of(1))));
    }
    if (readThen != null) {
      read.requireSame(readThen);
    }
    Scenario scenario =
        new Scenario(
            endpoint,
            requests,
            model.choice(),
            window(),
            window.seed,
            window.runs,
            input.tolerance == null ? ResponseCheck.NONE : generator.check(input.tolerance));
    return new Prepared(
        scenario,
        load.plan(window.percentile, replayed()),
        trace != null && input.isMade()
            ? trace.meanBatch()
            : generator.rowsPerRequest(shares(models.size())));
  }

  /** Of the requests that each model gets. */
  private double[] shares(int models) {
    return trace == null ? model.choice().shares(models) : trace.shares();
  }

  private static InputSettings.@Nullable Format prescribed(Endpoint endpoint, boolean isDjl) {
    if (endpoint.isGrpc()) {
      return InputSettings.Format.GRPC;
    }
    return isDjl ? InputSettings.Format.DJL : null;
  }

  /** With files, a request is any example of its model. */
  private @Nullable Trace replayed() {
    if (trace == null) {
      return null;
    }
    return input.isMade() ? trace.trace() : trace.trace().ofAnyVariant(Arrivals.ANY);
  }

  private Window window() {
    Duration length = trace == null ? null : trace.trace().length();
    return window.window(length);
  }
}
