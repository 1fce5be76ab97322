package io.pipelane.loadgen.measure;

import io.pipelane.loadgen.result.ClientCpu;
import io.pipelane.loadgen.result.LoadReport;
import io.pipelane.loadgen.result.SendCounts;
import io.pipelane.loadgen.result.StabilityReport;
import io.pipelane.loadgen.result.Warmth;
import io.pipelane.loadgen.settings.ModelRequests;
import io.pipelane.loadgen.settings.Stability;
import io.pipelane.loadgen.settings.Window;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/**
 * The recorder that sorts events into the measured windows and adds them up. On the run's thread.
 *
 * <p>A request belongs to the window that it was meant to leave in, however late its answer comes;
 * throughput counts the good answers that come within a window. So a server that stalls at the end
 * of the measurement gets away with neither.
 */
public final class Recorder {
  /** From this on a request left late. */
  public static final long LATE_NANOS = 1_000_000;

  private final List<ModelRequests> models;
  private final Windows windows;
  private final Slices slices = new Slices();
  private final @Nullable StabilityRule rule;
  private final List<ClientCpu> cpuAtStart = new ArrayList<>();
  private final List<ClientCpu> cpuAtEnd = new ArrayList<>();
  private boolean stable;
  private long measured;
  private long reconnects;
  private long answered;
  private long errors;
  private long errorsOutside;

  public Recorder(List<ModelRequests> models, Window window) {
    this.models = models;
    this.windows = new Windows(models.size(), window.maximumWindows());
    Stability stability = window.stability();
    this.rule = stability == null ? null : new StabilityRule(stability);
  }

  /**
   * The first window begins at a time.
   *
   * @param windowNanos how long each of them lasts; 0 when it lasts until {@link #endWindow}
   */
  public void begin(long start, long windowNanos) {
    windows.begin(start, windowNanos);
    slices.begin(start);
  }

  /** A window begins, with so much CPU time used so far. */
  public void beginWindow(ClientCpu used) {
    cpuAtStart.add(used);
  }

  /**
   * A window has ended, with so much CPU time used so far.
   *
   * @param boundary to the next one
   * @return whether the figures have settled, so that no further window is needed
   */
  public boolean endWindow(long boundary, ClientCpu used) {
    int number = cpuAtEnd.size();
    cpuAtEnd.add(used);
    windows.end(boundary);
    WindowTally ended = windows.get(number);
    long windowNanos = boundary - windows.startOf(number);
    stable = rule != null && ended != null && rule.accept(ended.completedNanos, windowNanos);
    return stable;
  }

  /** The measurement ends at a time, in the midst of a window. */
  public void end(long time) {
    windows.endAll(time);
  }

  /** Requests sent that belong to a window. */
  public long measured() {
    return measured;
  }

  /** Good answers, warm-up included. */
  public long answered() {
    return answered;
  }

  /** Errors, warm-up included. */
  public long errors() {
    return errors;
  }

  /**
   * A request left.
   *
   * @param freeSince since when its connection had nothing to do
   */
  public void sent(long intended, long freeSince, long sent) {
    WindowTally window = windows.at(intended);
    if (window == null) {
      return;
    }
    measured++;
    window.sent++;
    long ownLag = sent - Math.max(intended, freeSince);
    Latencies.record(window.lagNanos, ownLag);
    if (sent - intended > LATE_NANOS) {
      window.late++;
      if (ownLag > LATE_NANOS) {
        window.lateByGenerator++;
      }
    }
  }

  public void answered(int model, long intended, long sent, long completed, Warmth warmth) {
    answered++;
    long response = completed - intended;
    slices.latency(intended, response, warmth == Warmth.COLD);
    slices.answer(completed);
    WindowTally meant = windows.at(intended);
    if (meant != null) {
      meant.models.get(model).latency(response, completed - sent, warmth);
    }
    WindowTally arrived = windows.at(completed);
    if (arrived != null) {
      arrived.models.get(model).answerWithinWindow();
      Latencies.record(arrived.completedNanos, response);
    }
  }

  public void failed(int model, long intended, String kind, String message) {
    WindowTally window = windows.at(intended);
    error(window == null ? null : window.models.get(model), intended, kind, message);
  }

  /** A request of a window found no connection until the test gave up. */
  public void unsent(long intended) {
    WindowTally window = windows.at(intended);
    if (window != null) {
      window.unsent++;
    }
    error(
        window == null ? null : window.unattributed,
        intended,
        "not sent",
        "no connection was free before the test ended");
  }

  /** An attempt to open a connection failed: the requests that wait for one are not lost by it. */
  public void connectFailed(long now, String reason) {
    WindowTally window = windows.at(now);
    if (window == null) {
      errorsOutside++;
    } else {
      window.connectFailed(reason);
    }
  }

  public void reconnecting() {
    reconnects++;
  }

  /**
   * A timer that should have gone off at a time did so now.
   *
   * @param intervalNanos from one to the next
   */
  public void timer(long due, long now, long intervalNanos) {
    WindowTally window = windows.at(due);
    if (window != null) {
      window.timer(now - due, intervalNanos);
    }
  }

  /**
   * Adds up the last windows.
   *
   * @param end of the measurement; earlier than the last window's when a request limit ended it
   * @param used CPU time up to the end, unless a window ended then
   */
  public LoadReport report(long end, ClientCpu used) {
    int to = Math.max(1, cpuAtEnd.size());
    while (windows.startOf(to) < end) {
      to++;
    }
    int from = Math.max(0, to - Stability.WINDOWS);
    WindowTally sum = windows.sum(from, to);
    long windowNanos = Math.max(0, end - windows.startOf(from));
    ClientCpu cpuEnd = to <= cpuAtEnd.size() ? cpuAtEnd.get(to - 1) : used;
    ClientCpu cpu = cpuEnd.minus(from < cpuAtStart.size() ? cpuAtStart.get(from) : cpuEnd);
    Verdict verdict = Verdict.of(sum, windowNanos, cpu, errorsOutside);
    return new LoadReport(
        sum.total().report("all", windowNanos),
        IntStream.range(0, models.size())
            .mapToObj(i -> sum.models.get(i).report(models.get(i).model(), windowNanos))
            .toList(),
        Duration.ofNanos(windowNanos),
        new SendCounts(
            sum.sent, sum.late, sum.lateByGenerator, sum.unsent, sum.failedConnects, reconnects),
        sum.lagNanos,
        sum.pauses(),
        slices.until(end),
        cpu,
        rule == null ? null : new StabilityReport(stable, to),
        verdict.bottlenecks(),
        verdict.warnings());
  }

  private void error(@Nullable Tally tally, long time, String kind, String message) {
    errors++;
    slices.error(time);
    if (tally == null) {
      errorsOutside++;
    } else {
      tally.error(kind, message);
    }
  }
}
