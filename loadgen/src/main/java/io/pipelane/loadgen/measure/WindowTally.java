package io.pipelane.loadgen.measure;

import io.pipelane.loadgen.result.Pauses;
import java.time.Duration;
import java.util.List;
import java.util.stream.Stream;
import org.HdrHistogram.Histogram;

/** Adds up what is measured in one window. One thread at a time. */
final class WindowTally {
  final List<Tally> models;

  /** Errors that belong to no model. */
  final Tally unattributed = new Tally();

  /** Response times of the answers that came within the window: what stability is judged by. */
  final Histogram completedNanos = Latencies.histogram(3);

  final Histogram lagNanos = Latencies.histogram(3);
  Pauses pauses = Pauses.NONE;
  long sent;
  long late;
  long lateByGenerator;
  long unsent;

  WindowTally(int models) {
    this.models = Stream.generate(Tally::new).limit(models).toList();
  }

  void paused(long nanos) {
    Duration pause = Duration.ofNanos(nanos);
    pauses = pauses.plus(new Pauses(1, pause, pause));
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
    pauses = pauses.plus(other.pauses);
    sent += other.sent;
    late += other.late;
    lateByGenerator += other.lateByGenerator;
    unsent += other.unsent;
  }
}
