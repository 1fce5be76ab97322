package io.pipelane.bench.measure;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

/** The timing of runs by the system's clock. */
public final class Timing {
  private static final double NANOS_PER_MILLI = 1e6;
  private static final double NANOS_PER_SECOND = 1e9;

  private Timing() {}

  /** Milliseconds of one run. */
  public static double millis(Run run) throws Exception {
    long begin = System.nanoTime();
    run.run();
    return (System.nanoTime() - begin) / NANOS_PER_MILLI;
  }

  /** The median latency in milliseconds of one caller that runs for a while, once at least. */
  public static double medianMillis(Run run, Duration length) throws Exception {
    return samples(() -> {}, run, length).median();
  }

  /**
   * Latencies in milliseconds of one caller that runs for a while, once at least.
   *
   * @param before done before each run, and not timed
   */
  public static Samples samples(Run before, Run run, Duration length) throws Exception {
    Samples samples = new Samples();
    long end = System.nanoTime() + length.toNanos();
    do {
      before.run();
      samples.add(millis(run));
    } while (System.nanoTime() < end);
    return samples;
  }

  /**
   * Has two run in turns, a stretch each, so that drift of the machine hits both alike.
   *
   * @param length of all stretches of one of them together
   * @return the latencies of each in milliseconds, the first's first
   */
  public static List<Samples> alternating(Run first, Run second, int stretches, Duration length)
      throws Exception {
    List<Samples> samples = List.of(new Samples(), new Samples());
    long stretchNanos = length.toNanos() / stretches;
    for (int stretch = 0; stretch < stretches; stretch++) {
      for (int which = 0; which < 2; which++) {
        Run run = which == 0 ? first : second;
        long end = System.nanoTime() + stretchNanos;
        do {
          samples.get(which).add(millis(run));
        } while (System.nanoTime() < end);
      }
    }
    return samples;
  }

  /**
   * Runs per second of callers that run at the same time, each on a platform thread of its own and
   * as often as it can. Each is counted over its own time, so that the last runs count whole.
   */
  public static double perSecond(List<? extends Run> callers, Duration length) throws Exception {
    CyclicBarrier start = new CyclicBarrier(callers.size());
    List<Callable<Double>> tasks = new ArrayList<>();
    for (Run caller : callers) {
      tasks.add(
          () -> {
            start.await();
            return perSecond(caller, length);
          });
    }
    double sum = 0;
    try (ExecutorService threads = Executors.newFixedThreadPool(callers.size())) {
      for (Future<Double> rate : threads.invokeAll(tasks)) {
        sum += rate.get();
      }
    } catch (ExecutionException e) {
      throw e.getCause() instanceof Exception cause ? cause : e;
    }
    return sum;
  }

  private static double perSecond(Run run, Duration length) throws Exception {
    long begin = System.nanoTime();
    long runs = 0;
    long now;
    do {
      run.run();
      runs++;
      now = System.nanoTime();
    } while (now - begin < length.toNanos());
    return runs * NANOS_PER_SECOND / (now - begin);
  }
}
