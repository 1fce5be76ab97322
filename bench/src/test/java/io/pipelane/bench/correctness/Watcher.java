package io.pipelane.bench.correctness;

import io.pipelane.switcher.Switcher;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/**
 * Checks a switcher's accounts all the time while a test runs, and looks at the process's memory
 * now and then, on a thread of its own.
 */
final class Watcher {
  private static final Path MEMORY = Path.of("/proc/self/smaps_rollup");
  private static final long CHECK_NANOS = 1_000_000;
  private static final int CHECKS_PER_SAMPLE = 200;

  private final Switcher switcher;
  private final List<MemoryTrend.Sample> samples = new ArrayList<>();
  private final long start = System.nanoTime();
  private final Thread thread;
  private volatile boolean stopped;
  private @Nullable Exception failure;
  private long checks;

  Watcher(Switcher switcher) {
    this.switcher = switcher;
    this.thread = Thread.ofPlatform().name("watcher").daemon().start(this::watch);
  }

  private void watch() {
    try {
      while (!stopped) {
        switcher.verify();
        if (checks % CHECKS_PER_SAMPLE == 0) {
          double seconds = (System.nanoTime() - start) / 1e9;
          samples.add(new MemoryTrend.Sample(seconds, anonymousMebibytes()));
        }
        checks++;
        LockSupport.parkNanos(CHECK_NANOS);
      }
    } catch (IOException | RuntimeException e) {
      failure = e;
    }
  }

  /** The process's memory that no file backs, device memory (which is shared memory) apart. */
  private static double anonymousMebibytes() throws IOException {
    for (String line : Files.readAllLines(MEMORY)) {
      if (line.startsWith("Pss_Anon:")) {
        return Double.parseDouble(line.replaceAll("\\D", "")) / 1024;
      }
    }
    throw new IOException("no Pss_Anon in " + MEMORY);
  }

  /** How often every invariant was checked. */
  long checks() {
    return checks;
  }

  /** The course of memory over the second half of all samples; call it after {@link #stop}. */
  MemoryTrend secondHalf() {
    return MemoryTrend.of(samples.subList(samples.size() / 2, samples.size()));
  }

  /** Samples of memory in the order in which they were taken. */
  List<MemoryTrend.Sample> samples() {
    return samples;
  }

  /**
   * Ends the watch.
   *
   * @throws IllegalStateException when an invariant did not hold
   */
  void stop() throws InterruptedException {
    stopped = true;
    thread.join();
    if (failure != null) {
      throw new IllegalStateException("after " + checks + " checks: " + failure, failure);
    }
  }
}
