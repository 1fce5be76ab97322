package io.pipelane.switcher.sharing;

import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.OptionalDouble;

/**
 * The share of a device's online requests of the last seconds that met their objective, of those
 * that had one. Belongs to one thread.
 */
public final class Attainment {
  private static final Duration WINDOW = Duration.ofSeconds(10);
  private static final long LEAST_REQUESTS = 20;

  private final Deque<Timed> looks = new ArrayDeque<>();

  /**
   * Counts of requests with an objective, since the start.
   *
   * @param met requests that met their objective
   * @param judged these and those that did not
   */
  public record Objectives(long met, long judged) {}

  private record Timed(long nanos, Objectives objectives) {}

  /** Of the window's requests; empty while they are too few to tell. */
  public OptionalDouble update(Objectives now, long nowNanos) {
    looks.addLast(new Timed(nowNanos, now));
    while (nowNanos - looks.getFirst().nanos > WINDOW.toNanos()) {
      looks.removeFirst();
    }
    Objectives before = looks.getFirst().objectives;
    long judged = now.judged - before.judged;
    return judged < LEAST_REQUESTS
        ? OptionalDouble.empty()
        : OptionalDouble.of((now.met - before.met) / (double) judged);
  }
}
