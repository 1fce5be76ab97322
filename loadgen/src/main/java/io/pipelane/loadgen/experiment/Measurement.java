package io.pipelane.loadgen.experiment;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.loadgen.result.LoadReport;
import io.pipelane.loadgen.result.Progress;
import io.pipelane.loadgen.server.ModelStatistics;
import io.pipelane.loadgen.server.ServerClient;
import io.pipelane.loadgen.settings.LoadMode;
import io.pipelane.loadgen.settings.LoadTest;
import io.pipelane.loadgen.settings.ModelRequests;
import io.pipelane.loadgen.settings.Span;
import java.util.LinkedHashMap;
import java.util.Map;

/** The measurement of one scenario's loads, each in several runs. One thread at a time. */
public final class Measurement {
  private final Scenario scenario;
  private final ServerClient server;
  private final RunObserver observer;
  private boolean interrupted;

  /**
   * @param server is asked what it counts, beside the load
   */
  public Measurement(Scenario scenario, ServerClient server, RunObserver observer) {
    this.scenario = scenario;
    this.server = server;
    this.observer = observer;
  }

  /** How often each load is to be measured. */
  int runs() {
    return scenario.runs();
  }

  /**
   * Measures one load once. An interrupt ends it early, and {@link #isInterrupted} says so.
   *
   * @param run counted from 0
   * @throws StatusException {@link Status#UNAVAILABLE} when the server cannot be connected to,
   *     {@link Status#CANCELLED} when it is interrupted before anything is measured
   * @throws InterruptedException when it is interrupted a second time
   */
  public MeasuredRun run(LoadMode mode, int run) throws InterruptedException {
    LoadTest test = scenario.test(mode, run);
    observer.begins(test, run);
    Counting counting = counting();
    LoadReport report;
    try {
      report = LoadRunner.run(test, counting::progress);
    } finally {
      interrupted = Thread.interrupted();
    }
    MeasuredRun measured = new MeasuredRun(test.seed(), report, counted(counting));
    observer.ended(measured);
    return measured;
  }

  private Counting counting() {
    try {
      return new Counting();
    } catch (InterruptedException e) {
      interrupted = true;
      throw new StatusException(Status.CANCELLED, "interrupted before anything was measured", e);
    }
  }

  /** What the server counted; nothing where an interrupt keeps it from being asked. */
  private Map<String, ModelStatistics> counted(Counting counting) {
    try {
      return counting.sinceWarmup();
    } catch (InterruptedException e) {
      interrupted = true;
      return Map.of();
    }
  }

  /** Whether the last run was ended early by an interrupt; no other should begin then. */
  public boolean isInterrupted() {
    return interrupted;
  }

  /** The server's own counts from the end of the warm-up on, as nearly as it can be asked. */
  private final class Counting {
    private Map<String, ModelStatistics> before = statistics();
    private boolean warm = scenario.window().warmup().equals(Span.Time.NONE);

    Counting() throws InterruptedException {}

    void progress(Progress progress) {
      if (!warm && progress.warm()) {
        warm = true;
        try {
          before = statistics();
        } catch (InterruptedException e) {
          Thread.currentThread().interrupt();
        }
      }
      observer.progress(progress);
    }

    Map<String, ModelStatistics> sinceWarmup() throws InterruptedException {
      Map<String, ModelStatistics> since = new LinkedHashMap<>();
      statistics()
          .forEach(
              (model, now) -> {
                ModelStatistics earlier = before.get(model);
                if (earlier != null) {
                  since.put(model, now.minus(earlier));
                }
              });
      return since;
    }

    private Map<String, ModelStatistics> statistics() throws InterruptedException {
      Map<String, ModelStatistics> statistics = new LinkedHashMap<>();
      for (ModelRequests model : scenario.models()) {
        var counted = server.statistics(model.model());
        if (counted.isEmpty()) {
          return Map.of();
        }
        statistics.put(model.model(), counted.get());
      }
      return statistics;
    }
  }
}
