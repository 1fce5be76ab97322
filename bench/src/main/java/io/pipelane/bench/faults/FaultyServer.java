package io.pipelane.bench.faults;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.pipelane.bench.process.ChildProcess;
import io.pipelane.bench.process.ServerMain;
import io.pipelane.lanes.process.channel.WorkerArea;
import java.io.IOException;
import java.io.OutputStream;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.channels.Channels;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.Stream;

/** A server with worker processes, in a process of its own, and what is done to it. */
final class FaultyServer implements AutoCloseable {
  private static final ObjectMapper JSON = new ObjectMapper();

  private static final long TICK_NANOS = 200_000;
  private static final long FAULT_LIMIT_NANOS = 20_000_000_000L;

  private final ChildProcess process;
  private final Path armed;
  private final HttpClient http = HttpClient.newHttpClient();

  private FaultyServer(ChildProcess process, Path armed) {
    this.process = process;
    this.armed = armed;
  }

  /** Starts one and waits until its models are READY. */
  static FaultyServer start(Path log, List<String> settings)
      throws IOException, InterruptedException {
    Path temporary = log.resolveSibling("tmp");
    Path armed = FaultsWithinRuns.prepare(temporary);
    return new FaultyServer(
        ChildProcess.start(
            log, ServerMain.class, settings, FaultsWithinRuns.environment(temporary)),
        armed);
  }

  /** A worker as the server tells of it. */
  record Worker(int id, long pid, String state, int sessions, int warmedUp) {}

  /** All of them, and what has become of others. */
  record Workers(List<Worker> workers, long lost, double lastPauseMillis) {
    /** Those in a state that have so many sessions. */
    List<Worker> in(String state, int sessions) {
      return workers.stream()
          .filter(worker -> worker.state().equals(state) && worker.sessions() >= sessions)
          .toList();
    }
  }

  URI url() {
    return process.url();
  }

  long pid() {
    return process.process().pid();
  }

  Workers workers() throws IOException, InterruptedException {
    JsonNode answer =
        JSON.readTree(
            http.send(
                    HttpRequest.newBuilder(url().resolve("/v2/workers")).build(),
                    HttpResponse.BodyHandlers.ofByteArray())
                .body());
    List<Worker> workers = new ArrayList<>();
    for (JsonNode worker : answer.path("workers")) {
      workers.add(
          new Worker(
              worker.path("id").asInt(),
              worker.path("pid").asLong(),
              worker.path("state").asText(),
              worker.path("sessions").asInt(),
              worker.path("warmed_up").asInt()));
    }
    return new Workers(
        workers, answer.path("lost").asLong(), answer.path("last_pause_us").asLong() / 1e3);
  }

  /** Whether the accounts of its memory add up; says what does not. */
  boolean isLedgerExact() throws IOException, InterruptedException {
    String verified = process.ask(ServerMain.VERIFY, ServerMain.LEDGER);
    boolean exact = verified.equals(ServerMain.EXACT);
    if (!exact) {
      System.err.println(verified);
    }
    return exact;
  }

  /** The first worker in a state. */
  Worker first(String state) throws IOException, InterruptedException {
    return workers().in(state, 0).stream()
        .findFirst()
        .orElseThrow(() -> new IOException("no worker is " + state));
  }

  /** Sends a signal, to all workers at the same time: a run's retry is not to meet the second. */
  void signal(String name, Worker... workers) throws IOException, InterruptedException {
    List<String> command = new ArrayList<>(List.of("kill", "-" + name));
    for (Worker worker : workers) {
      command.add(Long.toString(worker.pid()));
    }
    run(command.toArray(String[]::new));
  }

  /** Lets a worker have no more memory than it has. */
  void denyMemory(Worker worker) throws IOException, InterruptedException {
    run("prlimit", "--pid", Long.toString(worker.pid()), "--as=4096", "--data=4096");
  }

  /**
   * Has a worker have a fault in the middle of a run; blocks until it does.
   *
   * @throws IOException when it does not
   */
  void inRun(FaultWithinRun fault, Worker worker) throws IOException {
    long begin = System.nanoTime();
    FaultsWithinRuns.arm(armed, fault, worker.pid());
    while (FaultsWithinRuns.isArmed(armed, fault, worker.pid())) {
      if (System.nanoTime() - begin > FAULT_LIMIT_NANOS) {
        throw new IOException("no run of worker " + worker.id() + " meets the fault " + fault);
      }
      LockSupport.parkNanos(TICK_NANOS);
    }
  }

  /** Overwrites everything that a worker and the server tell each other. */
  void fillWithGarbage(Worker worker) throws IOException {
    Path descriptors = Path.of("/proc", Long.toString(pid()), "fd");
    String name = "/memfd:pipelane-worker-" + worker.id() + " ";
    try (Stream<Path> all = Files.list(descriptors)) {
      for (Path descriptor : all.toList()) {
        if (target(descriptor).startsWith(name)) {
          overwrite(descriptor);
        }
      }
    }
  }

  private static String target(Path descriptor) {
    try {
      return Files.readSymbolicLink(descriptor).toString();
    } catch (IOException e) {
      return ""; // It is closed by now.
    }
  }

  private static void overwrite(Path memory) throws IOException {
    try (FileChannel channel = FileChannel.open(memory, StandardOpenOption.WRITE);
        OutputStream out = Channels.newOutputStream(channel.position(WorkerArea.CHANNELS_AT))) {
      byte[] garbage = new byte[Math.toIntExact(channel.size() - WorkerArea.CHANNELS_AT)];
      Arrays.fill(garbage, (byte) 0x7f);
      out.write(garbage);
    }
  }

  /** Has a worker replaced. */
  void recycle(Worker worker) throws IOException, InterruptedException {
    int status =
        http.send(
                HttpRequest.newBuilder(url().resolve("/v2/workers/" + worker.id() + "/recycle"))
                    .POST(HttpRequest.BodyPublishers.noBody())
                    .build(),
                HttpResponse.BodyHandlers.discarding())
            .statusCode();
    if (status != 200) {
      throw new IOException("recycling worker " + worker.id() + " was answered " + status);
    }
  }

  private static void run(String... command) throws IOException, InterruptedException {
    int code = new ProcessBuilder(command).inheritIO().start().waitFor();
    if (code != 0) {
      throw new IOException(String.join(" ", command) + " ended with " + code);
    }
  }

  /** Ends the server by signal 9; blocks until it is gone. */
  void kill() throws InterruptedException {
    process.process().destroyForcibly().waitFor();
  }

  @Override
  public void close() throws IOException {
    http.close();
    process.close();
  }
}
