package io.pipelane.loadgen.measure;

import io.pipelane.loadgen.result.Pauses;
import java.time.Duration;
import java.util.List;
import java.util.stream.Stream;
import org.HdrHistogram.Histogram;

/** The sums of what is measured in one window. One thread at a time. */
final class WindowTally {
  final List<Tally> models;

  /** Errors that belong to no model. */
  final Tally unattributed = new Tally();

  /** Response times of the answers that came within the window: what stability is judged by. */
  final Histogram completedNanos = Latencies.histogram(3);

  final Histogram lagNanos = Latencies.histogram(3);

  /** What something that happens at any time would have been delayed by. */
  final Histogram delayNanos = Latencies.histogram(3);

  long pauses;
  long pausedNanos;
  long sent;
  long late;
  long lateByGenerator;
  long unsent;
  long failedConnects;

  /** Why the first of them failed. */
  String connectFailure = "";

  WindowTally(int models) {
    this.models = Stream.generate(Tally::new).limit(models).toList();
  }

  /**
   * A timer went off so late.
   *
   * @param intervalNanos from one to the next; while one is late, others are missing
   */
  void timer(long lateNanos, long intervalNanos) {
    Latencies.record(delayNanos, lateNanos, intervalNanos);
    if (lateNanos > Recorder.LATE_NANOS) {
      pauses++;
      pausedNanos += lateNanos;
    }
  }

  void connectFailed(String reason) {
    failedConnects++;
    connectFailure = connectFailure.isEmpty() ? reason : connectFailure;
  }

  Pauses pauses() {
    return new Pauses(
        pauses,
        Duration.ofNanos(pausedNanos),
        Duration.ofNanos(pauses == 0 ? 0 : delayNanos.getMaxValue()),
        Duration.ofNanos(delayNanos.getValueAtPercentile(99)));
  }

  /** Models and unattributed errors together. */
  Tally total() {
    Tally total = new Tally();
    models.forEach(total::add);
    total.add(unattributed);
    return total;
  }

  void add(WindowTally other) {
    for (int i = 0; i < models.size(); i++) {
      models.get(i).add(other.models.get(i));
    }
    unattributed.add(other.unattributed);
    completedNanos.add(other.completedNanos);
    lagNanos.add(other.lagNanos);
    delayNanos.add(other.delayNanos);
    pauses += other.pauses;
    pausedNanos += other.pausedNanos;
    sent += other.sent;
    late += other.late;
    lateByGenerator += other.lateByGenerator;
    unsent += other.unsent;
    failedConnects += other.failedConnects;
    connectFailure = connectFailure.isEmpty() ? other.connectFailure : connectFailure;
  }
}
