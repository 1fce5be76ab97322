package io.pipelane.server.jobs;

import static org.junit.jupiter.api.Assertions.assertThrows;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.modelstore.ModelVersion;
import io.pipelane.modelstore.repository.ModelOptions.Priority;
import io.pipelane.server.http.EchoService;
import io.pipelane.server.http.FakeCatalog;
import io.pipelane.server.placement.JobPlacement;
import io.pipelane.server.statistics.InferenceStatistics;
import io.pipelane.switcher.InferenceService;
import io.pipelane.switcher.JobWork;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Clock;
import java.time.Duration;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.OptionalLong;
import java.util.Random;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;

/** Jobs in a folder, whose model answers its input. */
final class JobsFixture {
  static final int ITEMS = 10;

  /** What a request says of a job of one item. */
  static final String ONE_ITEM = "\"items\":[" + item(0) + "],\"output_file\":\"q\"";

  /** Items between two checkpoints of a state. */
  static final int CHECKPOINT = 50;

  private static final long LOOK_AGAIN_NANOS = 200_000;

  private static final int MOST_ITEM_BYTES = 200;

  final Path folder;
  final FakeCatalog catalog = FakeCatalog.usual();

  final InferenceStatistics statistics = new InferenceStatistics();

  /** Jobs begin as they came. */
  OptionalDouble ageing = OptionalDouble.empty();

  /** Until something is asked for again. */
  Duration retryPause = Duration.ofMillis(1);

  JobsFixture(Path folder) {
    this.folder = folder;
  }

  Jobs open(InferenceService service, JobStep.Hook hook) throws IOException {
    return open(service, hook, Optional.empty(), 1);
  }

  /** So many jobs at once, which are given no device. */
  Jobs open(InferenceService service, int threads) throws IOException {
    return open(service, JobStep.Hook.NONE, Optional.empty(), threads);
  }

  /** Jobs that are given devices, as many at once as there are threads. */
  Jobs open(InferenceService service, JobPlacement placement, int threads) throws IOException {
    return open(service, JobStep.Hook.NONE, Optional.of(placement), threads);
  }

  private Jobs open(
      InferenceService service, JobStep.Hook hook, Optional<JobPlacement> placement, int threads)
      throws IOException {
    JobsSettings settings =
        new JobsSettings(
            folder,
            threads,
            3,
            CHECKPOINT,
            3,
            MOST_ITEM_BYTES,
            ageing,
            retryPause,
            0,
            Optional.empty());
    JobParts parts =
        new JobParts(settings, catalog, service, statistics, new Random(), Clock.systemUTC());
    return Jobs.open(parts, placement, hook);
  }

  Jobs open(InferenceService service) throws IOException {
    return open(service, JobStep.Hook.NONE);
  }

  /** A job of class offline that waits, of which nothing else matters. */
  static Job waiting(String id, ModelVersion model, JobWork work) {
    return waiting(id, model, Priority.OFFLINE, work);
  }

  /** The same of a class. */
  static Job waiting(String id, ModelVersion model, Priority priority, JobWork work) {
    JobSpec spec =
        new JobSpec(
            id, model, "", Optional.empty(), 0, 0, "out", priority, OptionalLong.empty(), 1, "", 0);
    return new Job(spec, JobState.QUEUED, Progress.NONE, work);
  }

  static String item(int i) {
    return "{\"inputs\":[{\"name\":\"x\",\"datatype\":\"FP32\",\"shape\":[1,4],\"data\":[%d,0.5,2,3]}]}"
        .formatted(i);
  }

  static String row(int i) {
    return "{\"item\":%d,\"response\":{\"model_name\":\"echo\",\"model_version\":\"2\",\"outputs\":[{\"name\":\"y_x\",\"datatype\":\"FP32\",\"shape\":[1,4],\"data\":[%d.0,0.5,2.0,3.0]}]}}\n"
        .formatted(i, i);
  }

  /** The output of a job over the first {@code items}. */
  static String rows(int items) {
    StringBuilder rows = new StringBuilder();
    for (int i = 0; i < items; i++) {
      rows.append(row(i));
    }
    return rows.toString();
  }

  /** Writes an input file with items, and blank lines between them. */
  void writeInput(String name, int items) throws IOException {
    StringBuilder lines = new StringBuilder();
    for (int i = 0; i < items; i++) {
      lines.append(item(i)).append(i % 2 == 0 ? "\n \n" : "\n");
    }
    Files.writeString(folder.resolve(name), lines);
  }

  static byte[] request(String members) {
    return ("{\"model\":\"echo\"," + members + "}").getBytes(StandardCharsets.UTF_8);
  }

  /** A job of a model that adds up what it is asked. */
  static byte[] sumRequest(long repeat) {
    return sumRequest("sum", repeat);
  }

  static byte[] sumRequest(String model, long repeat) {
    String files = "\"input_file\":\"in.jsonl\",\"output_file\":\"out.jsonl\"";
    String request = "{\"model\":\"%s\",%s,\"repeat\":%d}".formatted(model, files, repeat);
    return request.getBytes(StandardCharsets.UTF_8);
  }

  static byte[] fileRequest(String output) {
    return request("\"input_file\":\"in.jsonl\",\"output_file\":\"" + output + "\"");
  }

  String output(String name) throws IOException {
    return Files.readString(folder.resolve(name));
  }

  /** Waits until something is so, and leaves the processor to what makes it so. */
  static void await(BooleanSupplier condition) {
    while (!condition.getAsBoolean()) {
      if (Thread.interrupted()) {
        throw new IllegalStateException("interrupted while waiting");
      }
      LockSupport.parkNanos(LOOK_AGAIN_NANOS);
    }
  }

  /** Waits for a job's end. */
  static JobStatus ended(Jobs jobs, String id) {
    await(() -> jobs.show(id).state().isEnd());
    return jobs.show(id);
  }

  /** Completes each request once. */
  static void completeAll(EchoService service) {
    while (!service.pending.isEmpty()) {
      service.pending.removeFirst().complete();
    }
  }

  static void awaitPending(EchoService service, int requests) {
    await(() -> service.pending.size() >= requests);
  }

  /** Completes requests until a job has ended. */
  static void completeUntilEnded(EchoService service, Jobs jobs, String id) {
    while (!jobs.show(id).state().isEnd()) {
      completeAll(service);
    }
  }

  static Status refused(Runnable work) {
    return assertThrows(StatusException.class, work::run).status();
  }
}
