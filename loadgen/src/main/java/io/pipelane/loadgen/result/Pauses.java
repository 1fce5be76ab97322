package io.pipelane.loadgen.result;

import java.time.Duration;

/**
 * How often the generator itself stood still: a timer that goes off every few milliseconds went off
 * more than a millisecond late. Collections, other work on the machine and too much of its own do
 * that.
 */
public record Pauses(long count, Duration total, Duration longest) {
  public static final Pauses NONE = new Pauses(0, Duration.ZERO, Duration.ZERO);

  public Pauses plus(Pauses other) {
    return new Pauses(
        count + other.count,
        total.plus(other.total),
        longest.compareTo(other.longest) > 0 ? longest : other.longest);
  }
}
