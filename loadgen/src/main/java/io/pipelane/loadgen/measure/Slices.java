package io.pipelane.loadgen.measure;

import io.pipelane.loadgen.result.Slice;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.HdrHistogram.Histogram;

/**
 * A measurement over time in slices of equal length. There are never more than a few hundred: when
 * they would become more, each two neighbours are made one. One thread at a time.
 */
final class Slices {
  private static final int MAXIMUM = 240;
  private static final long SHORTEST_NANOS = 100_000_000;

  private final List<Counts> slices = new ArrayList<>();
  private long start = Long.MAX_VALUE;
  private long lengthNanos = SHORTEST_NANOS;

  private static final class Counts {
    private final Histogram responseNanos = Latencies.histogram(2);
    private long answers;
    private long errors;
    private long cold;

    private void add(Counts other) {
      responseNanos.add(other.responseNanos);
      answers += other.answers;
      errors += other.errors;
      cold += other.cold;
    }
  }

  void begin(long start) {
    this.start = start;
  }

  void latency(long intended, long response, boolean cold) {
    if (intended >= start) {
      Counts slice = at(intended);
      Latencies.record(slice.responseNanos, response);
      slice.cold += cold ? 1 : 0;
    }
  }

  void answer(long completed) {
    if (completed >= start) {
      at(completed).answers++;
    }
  }

  void error(long time) {
    if (time >= start) {
      at(time).errors++;
    }
  }

  /** The slices that begin before a time. */
  List<Slice> until(long end) {
    List<Slice> result = new ArrayList<>();
    for (int i = 0; i < slices.size() && start + i * lengthNanos < end; i++) {
      Counts counts = slices.get(i);
      result.add(
          new Slice(
              Duration.ofNanos(i * lengthNanos),
              Duration.ofNanos(Math.min(lengthNanos, end - start - i * lengthNanos)),
              counts.responseNanos,
              counts.answers,
              counts.errors,
              counts.cold));
    }
    return result;
  }

  private Counts at(long time) {
    while ((time - start) / lengthNanos >= MAXIMUM) {
      halve();
    }
    int index = (int) ((time - start) / lengthNanos);
    while (slices.size() <= index) {
      slices.add(new Counts());
    }
    return slices.get(index);
  }

  private void halve() {
    List<Counts> halved = new ArrayList<>();
    for (int i = 0; i < slices.size(); i += 2) {
      Counts sum = slices.get(i);
      if (i + 1 < slices.size()) {
        sum.add(slices.get(i + 1));
      }
      halved.add(sum);
    }
    slices.clear();
    slices.addAll(halved);
    lengthNanos *= 2;
  }
}
