package io.pipelane.switcher.sharing.monitor;

import io.pipelane.lanes.monitor.DeviceSample;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;

/** The samples of a device's last minutes. Safe for any thread. */
public final class SampleRing {
  private static final Duration KEPT = Duration.ofMinutes(5);

  /** Samples that come faster are not all kept. */
  private static final Duration APART = Duration.ofMillis(10);

  private final Deque<Timed> samples = new ArrayDeque<>();

  /** A sample and when it was taken. */
  public record Timed(long nanos, DeviceSample sample) {}

  /** Adds the next one. */
  public synchronized void add(long nowNanos, DeviceSample sample) {
    if (samples.isEmpty() || nowNanos - samples.getLast().nanos >= APART.toNanos()) {
      samples.addLast(new Timed(nowNanos, sample));
    }
    while (nowNanos - samples.getFirst().nanos > KEPT.toNanos()) {
      samples.removeFirst();
    }
  }

  /** Those that are kept, the oldest first. */
  public synchronized List<Timed> kept() {
    return List.copyOf(samples);
  }
}
