package io.pipelane.lanes.process;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.lang.System.Logger.Level;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.regex.Pattern;

/**
 * The output that a worker process prints: logged line by line, the last of note kept. Safe for any
 * thread.
 */
final class WorkerOutput {
  private static final System.Logger LOG = System.getLogger(WorkerOutput.class.getName());
  private static final Pattern FRAME = Pattern.compile("\\s+(at |\\.\\.\\. \\d+ ).*");

  /** What the JVM's report of its own end says first of all: the signal, or what was missing. */
  private static final Pattern REASON = Pattern.compile("SIG[A-Z]+ \\(|[Mm]emory|Internal Error");

  private static final int LONGEST_LINE = 500;

  /** A child of the process may have its output still, and never end. */
  private static final long LONGEST_REST_MILLIS = 20;

  private final String name;
  private final CountDownLatch ended = new CountDownLatch(1);
  private String last = "";

  WorkerOutput(String name) {
    this.name = name;
  }

  /** Reads on a thread of its own until the end. */
  void read(InputStream output) {
    Thread.ofPlatform()
        .daemon()
        .name(name.replace(' ', '-') + "-output")
        .start(() -> readAll(output));
  }

  /** Reads on the calling thread until the end. */
  void readAll(InputStream output) {
    try (BufferedReader reader =
        new BufferedReader(new InputStreamReader(output, StandardCharsets.UTF_8))) {
      for (String line = reader.readLine(); line != null; line = reader.readLine()) {
        add(line.length() > LONGEST_LINE ? line.substring(0, LONGEST_LINE) : line);
      }
    } catch (IOException e) {
      LOG.log(Level.DEBUG, name + " has ended while it was read", e);
    } finally {
      ended.countDown();
    }
  }

  /** Waits, a moment at most, until all is read of a process that has ended. */
  void awaitEnd() {
    try {
      boolean _ = ended.await(LONGEST_REST_MILLIS, TimeUnit.MILLISECONDS);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  private synchronized void add(String line) {
    LOG.log(Level.INFO, name + ": " + line);
    if (!line.isBlank() && !FRAME.matcher(line).matches() && !isAboutTheReport(line)) {
      last = line.replaceFirst("^#", "").strip();
    }
  }

  /** Whether a line of the JVM's report of its own end says something else than why. */
  private static boolean isAboutTheReport(String line) {
    return line.startsWith("#") && !REASON.matcher(line).find();
  }

  /** The last line that says something, which no line of a stack does; empty when there is none. */
  synchronized String lastLine() {
    return last;
  }
}
