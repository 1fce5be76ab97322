package io.pipelane.bench.cluster;

import io.pipelane.bench.local.Arrivals;
import io.pipelane.bench.local.OfflineLoad;
import io.pipelane.bench.local.OnlineLoad;
import io.pipelane.bench.local.OpenCaller;
import io.pipelane.bench.measure.Run;
import io.pipelane.bench.measure.Samples;
import io.pipelane.cluster.simulator.ClusterSimulator.DayJob;
import io.pipelane.cluster.simulator.RequestRates;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.function.IntFunction;
import java.util.stream.IntStream;

/**
 * A simulated day of a device with its requests and jobs, lived on a real one whose minutes are
 * shorter. Jobs get the device one after another, at the simulator's times for placing.
 */
final class LiveDay {
  private static final int MINUTES = 24 * 60;

  private final Duration minute;
  private final int interval;
  private final double runsPerMinute;
  private final double[] rates;

  /**
   * The outcome of a day.
   *
   * @param latencies of the day's requests
   * @param failed requests without an answer
   * @param completions of the day's jobs from their coming to their end, in minutes
   * @param alone minutes that these jobs take on a device of their own
   * @param had minutes for which they had the device
   * @param end of the last one, in minutes from the beginning
   */
  record Outcome(
      Samples latencies,
      int failed,
      List<Double> completions,
      double alone,
      double had,
      double end) {
    double completion() {
      return completions.stream().mapToDouble(Double::doubleValue).average().orElse(Double.NaN);
    }

    /** Whether requests came until the last job had ended. */
    boolean isWhole() {
      return end <= MINUTES;
    }
  }

  /**
   * Plans it.
   *
   * @param minute how long one is
   * @param interval from one time for placing to the next, in minutes
   * @param runsPerSecond of offline work alone
   * @param rates of the only device's requests
   */
  LiveDay(Duration minute, int interval, double runsPerSecond, RequestRates rates) {
    this.minute = minute;
    this.interval = interval;
    this.runsPerMinute = runsPerSecond * minute.toNanos() / 1e9;
    this.rates = IntStream.range(0, MINUTES).mapToDouble(at -> rates.at(at, 0)).toArray();
  }

  /**
   * Lives it.
   *
   * @param jobs in the order of their coming; none for online work alone
   * @param offline gives callers of offline work, by number
   */
  Outcome live(
      OpenCaller online,
      List<DayJob> jobs,
      int callers,
      IntFunction<? extends Run> offline,
      long seed)
      throws Exception {
    OnlineLoad load = new OnlineLoad(online, Arrivals.poisson(rates, minute.toNanos(), seed));
    try (ExecutorService beside = Executors.newSingleThreadExecutor()) {
      Clock clock = new Clock(minute);
      Future<Worked> working = beside.submit(() -> work(jobs, clock, callers, offline));
      OnlineLoad.Outcome asked = load.run();
      Worked worked = working.get();
      return new Outcome(
          asked.latencies(),
          asked.failed(),
          worked.completions,
          worked.alone,
          worked.had,
          worked.end);
    }
  }

  private record Worked(List<Double> completions, double alone, double had, double end) {}

  private Worked work(
      List<DayJob> jobs, Clock clock, int callers, IntFunction<? extends Run> offline)
      throws InterruptedException {
    List<Double> completions = new ArrayList<>();
    double alone = 0;
    double had = 0;
    double end = 0;
    for (DayJob job : jobs) {
      double begin = Math.ceil(Math.max(job.arrival(), end) / interval) * interval;
      clock.sleepUntil(begin + job.beginning());
      try (OfflineLoad load = new OfflineLoad(callers, offline)) {
        load.awaitRuns(Math.max(1, Math.round(job.alone() * runsPerMinute)));
        end = clock.minutes();
      }
      completions.add(end - job.arrival());
      alone += job.alone();
      had += end - begin;
    }
    return new Worked(completions, alone, had, end);
  }

  /** The day's time, from its making. */
  private record Clock(double nanosPerMinute, long begin) {
    Clock(Duration minute) {
      this((double) minute.toNanos(), System.nanoTime());
    }

    double minutes() {
      return (System.nanoTime() - begin) / nanosPerMinute;
    }

    void sleepUntil(double minutes) throws InterruptedException {
      double left = minutes - minutes();
      if (left > 0) {
        Thread.sleep(Duration.ofNanos(Math.round(left * nanosPerMinute)));
      }
    }
  }
}
