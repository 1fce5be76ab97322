package io.pipelane.loadgen.drive;

import io.pipelane.loadgen.result.ClientCpu;
import io.pipelane.loadgen.result.LoadReport;
import io.pipelane.loadgen.result.SendCounts;
import io.pipelane.loadgen.settings.ModelRequests;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.stream.IntStream;

/**
 * Sorts events into the measured window and adds them up. On the run's thread.
 *
 * <p>A request belongs to the window when it was meant to leave within it, however late its answer
 * comes; throughput counts the good answers that come within it. So a server that stalls at the end
 * of the window gets away with neither.
 */
final class Recorder {
  /** From this on a request left late. */
  static final long LATE_NANOS = 1_000_000;

  private static final double TOLERATED_LATE_SHARE = 0.01;
  private static final double BUSY_SHARE = 0.9;

  private final List<ModelRequests> models;
  private final List<Tally> tallies;
  private final Tally unattributed = new Tally();
  private long windowStart = Long.MAX_VALUE;
  private long windowEnd = Long.MAX_VALUE;
  private long measured;
  private long late;
  private long lateByGenerator;
  private long unsent;
  private long reconnects;
  private long answered;
  private long errors;
  private long errorsOutside;

  Recorder(List<ModelRequests> models) {
    this.models = models;
    this.tallies = models.stream().map(_ -> new Tally()).toList();
  }

  void window(long start, long end) {
    windowStart = start;
    windowEnd = end;
  }

  /** Requests sent that belong to the window. */
  long measured() {
    return measured;
  }

  long answered() {
    return answered;
  }

  long errors() {
    return errors;
  }

  /**
   * A request left.
   *
   * @param freeSince since when its connection had nothing to do
   */
  void sent(long intended, long freeSince, long sent) {
    if (!isMeasured(intended)) {
      return;
    }
    measured++;
    if (sent - intended > LATE_NANOS) {
      late++;
      if (sent - Math.max(intended, freeSince) > LATE_NANOS) {
        lateByGenerator++;
      }
    }
  }

  void answered(int model, long intended, long sent, long completed) {
    answered++;
    if (isMeasured(intended)) {
      tallies.get(model).latency(completed - intended, completed - sent);
    }
    if (isMeasured(completed)) {
      tallies.get(model).answerWithinWindow();
    }
  }

  void failed(int model, long intended, String kind, String message) {
    error(tallies.get(model), intended, kind, message);
  }

  /** A request of the window found no connection until the test gave up. */
  void unsent(long intended) {
    if (isMeasured(intended)) {
      unsent++;
    }
    error(unattributed, intended, "not sent", "no connection was free before the test ended");
  }

  void connectFailed(long now, String reason) {
    error(unattributed, now, "cannot connect", reason);
  }

  void reconnecting() {
    reconnects++;
  }

  LoadReport report(long end, ClientCpu cpu) {
    long windowNanos = Math.max(0, end - windowStart);
    Tally total = new Tally();
    tallies.forEach(total::add);
    total.add(unattributed);
    return new LoadReport(
        total.report("all", windowNanos),
        IntStream.range(0, models.size())
            .mapToObj(i -> tallies.get(i).report(models.get(i).model(), windowNanos))
            .toList(),
        Duration.ofNanos(windowNanos),
        new SendCounts(measured, late, lateByGenerator, unsent, reconnects),
        cpu,
        warnings(windowNanos, cpu));
  }

  private boolean isMeasured(long time) {
    return time >= windowStart && time < windowEnd;
  }

  private void error(Tally tally, long time, String kind, String message) {
    errors++;
    if (isMeasured(time)) {
      tally.error(kind, message);
    } else {
      errorsOutside++;
    }
  }

  private List<String> warnings(long windowNanos, ClientCpu cpu) {
    List<String> warnings = new ArrayList<>();
    if (lateByGenerator > measured * TOLERATED_LATE_SHARE) {
      warnings.add(
          String.format(
              Locale.ROOT,
              "the generator was the bottleneck: %d of %d requests left over 1 ms late although a"
                  + " connection was free",
              lateByGenerator,
              measured));
    }
    if (cpu.loadThread().toNanos() > windowNanos * BUSY_SHARE) {
      warnings.add(
          "the generator was the bottleneck: its thread was busy more than 90 % of the time");
    }
    if (late - lateByGenerator > measured * TOLERATED_LATE_SHARE) {
      warnings.add(
          String.format(
              Locale.ROOT,
              "%d of %d requests waited over 1 ms for a free connection; response times include"
                  + " it, service times do not",
              late - lateByGenerator,
              measured));
    }
    if (errorsOutside > 0) {
      warnings.add(errorsOutside + " errors outside the measured window are not counted");
    }
    return warnings;
  }
}
