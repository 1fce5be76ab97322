package io.pipelane.bench.process;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.modelstore.ChildJvm;
import java.io.BufferedReader;
import java.io.BufferedWriter;
import java.io.IOException;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.jspecify.annotations.Nullable;

/**
 * A server in a Java process of its own, from this process's class path, that says {@code Listening
 * on URL} when it serves. Used by one thread.
 */
public final class ChildProcess implements AutoCloseable {
  /** Those that the server's own start script gives. */
  static final List<String> JVM_OPTIONS =
      List.of(
          "--enable-native-access=ALL-UNNAMED",
          "--sun-misc-unsafe-memory-access=allow",
          "--add-opens=java.base/java.nio=ALL-UNNAMED",
          "-Dio.netty.tryReflectionSetAccessible=true",
          "-Dio.netty.leakDetection.level=disabled",
          "-XX:MetaspaceSize=128m",
          "-XX:CompileThresholdScaling=0.25");

  private static final String LISTENING = "Listening on ";
  private static final String GRPC = "gRPC on ";
  private static final Duration ANSWER_LIMIT = Duration.ofMinutes(5);
  private static final Duration END_LIMIT = Duration.ofSeconds(10);

  private final Process process;
  private final Path log;
  private final BufferedReader output;
  private final BufferedWriter input;
  private final URI url;

  private ChildProcess(Process process, Path log) throws InterruptedException {
    this.process = process;
    this.log = log;
    output = process.inputReader(StandardCharsets.UTF_8);
    input = process.outputWriter(StandardCharsets.UTF_8);
    url = address(LISTENING);
  }

  /**
   * Starts a server and waits until it serves.
   *
   * @param log where it writes what goes wrong; kept
   * @throws StatusException {@link Status#UNAVAILABLE} when it ends or says nothing for minutes,
   *     with the end of its log
   */
  public static ChildProcess start(Path log, Class<?> main, List<String> arguments)
      throws IOException, InterruptedException {
    return start(log, main, arguments, Map.of());
  }

  /**
   * The same with more in its environment; its own processes have little of it ({@link ChildJvm}).
   *
   * @param environment variables beside those of this process
   */
  public static ChildProcess start(
      Path log, Class<?> main, List<String> arguments, Map<String, String> environment)
      throws IOException, InterruptedException {
    List<String> command = new ArrayList<>();
    command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    command.addAll(ChildJvm.optionsForChildren());
    command.addAll(JVM_OPTIONS);
    command.addAll(List.of("-cp", System.getProperty("java.class.path"), main.getName()));
    command.addAll(arguments);
    ProcessBuilder builder = new ProcessBuilder(command).redirectError(log.toFile());
    builder.environment().putAll(environment);
    Process process = builder.start();
    try {
      return new ChildProcess(process, log);
    } catch (RuntimeException | InterruptedException e) {
      process.destroyForcibly();
      throw e;
    }
  }

  /** Where it serves. */
  public URI url() {
    return url;
  }

  /**
   * Where it serves gRPC beside, which a {@link ServerMain} with that says next; to be asked once.
   *
   * @throws StatusException {@link Status#UNAVAILABLE} when it does not say so
   */
  public URI grpcUrl() throws InterruptedException {
    return address(GRPC);
  }

  /**
   * Asks it something by a line of its input.
   *
   * @param prefix what its answer, a line of its output, begins with
   * @return the rest of that
   * @throws IOException when it does not read any more
   * @throws StatusException {@link Status#UNAVAILABLE} when it does not answer
   */
  public String ask(String question, String prefix) throws IOException, InterruptedException {
    input.write(question);
    input.newLine();
    input.flush();
    return lineBeginningWith(prefix).substring(prefix.length());
  }

  /** The process itself, to signal it and to wait for it. */
  public Process process() {
    return process;
  }

  /** Processor time that it has used so far, all threads, user and system. */
  public Duration cpu() {
    return process
        .info()
        .totalCpuDuration()
        .orElseThrow(() -> new IllegalStateException("no CPU time is told of " + process));
  }

  private URI address(String prefix) throws InterruptedException {
    return URI.create(lineBeginningWith(prefix).substring(prefix.length()));
  }

  private String lineBeginningWith(String prefix) throws InterruptedException {
    CompletableFuture<String> found = new CompletableFuture<>();
    Thread.ofPlatform().daemon().start(() -> read(prefix, found));
    try {
      return found.get(ANSWER_LIMIT.toNanos(), TimeUnit.NANOSECONDS);
    } catch (ExecutionException | TimeoutException e) {
      throw new StatusException(
          Status.UNAVAILABLE, "the server's process fails: " + e + "; its log: " + log(), e);
    }
  }

  private void read(String prefix, CompletableFuture<String> found) {
    try {
      @Nullable String line = output.readLine();
      while (line != null && !line.startsWith(prefix)) {
        line = output.readLine();
      }
      if (line == null) {
        found.completeExceptionally(new IOException("it has ended"));
      } else {
        found.complete(line);
      }
    } catch (IOException e) {
      found.completeExceptionally(e);
    }
  }

  /** What it has written to its log. */
  public String log() {
    try {
      return Files.readString(log).strip();
    } catch (IOException e) {
      return e.toString();
    }
  }

  /** Ends the process by closing its standard input, by force when that does not do. */
  @Override
  public void close() throws IOException {
    try (input;
        output) {
      input.close();
      if (!process.waitFor(END_LIMIT.toSeconds(), TimeUnit.SECONDS)) {
        process.destroyForcibly();
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      process.destroyForcibly();
    }
  }
}
