package io.pipelane.bench.cycles;

import io.pipelane.bench.cycles.Way.Role;
import io.pipelane.bench.measure.Run;
import io.pipelane.bench.measure.Samples;
import java.time.Duration;
import java.util.EnumMap;
import java.util.Map;

/**
 * Turns that two models take by the clock, and the count of what comes of it. Used by one thread.
 */
final class TurnTaking {
  private static final double NANOS_PER_MILLI = 1e6;
  private static final double NANOS_PER_SECOND = 1e9;

  private final Way way;
  private final Map<Role, Long> runs = new EnumMap<>(Role.class);
  private final Samples latencies = new Samples();
  private final Samples firsts = new Samples();
  private int turns;
  private long nanos;
  private long movedBytes;

  /** No turns yet. */
  TurnTaking(Way way) {
    this.way = way;
  }

  /**
   * Takes turns, the background's first; both have as many.
   *
   * @param pairs at most
   * @param longestNanos after which no other pair begins
   */
  void take(int pairs, Duration cycle, long longestNanos) throws Exception {
    long moved = way.movedBytes();
    long begin = System.nanoTime();
    long wished = begin;
    int taken = 0;
    while (taken < pairs && System.nanoTime() - begin < longestNanos) {
      wished = turn(Role.BACKGROUND, wished, cycle.toNanos());
      wished = turn(Role.INFERENCE, wished, cycle.toNanos());
      taken++;
    }
    way.end();
    nanos += System.nanoTime() - begin;
    movedBytes += way.movedBytes() - moved;
    turns += 2 * taken;
  }

  /**
   * One turn.
   *
   * @param wished when it was to begin
   * @return when it was to end
   */
  private long turn(Role role, long wished, long cycleNanos) throws Exception {
    long end = System.nanoTime() + cycleNanos;
    Run run = way.begin(role);
    long asked = wished;
    long count = 0;
    do {
      run.run();
      long now = System.nanoTime();
      note(role, (now - asked) / NANOS_PER_MILLI, count == 0);
      asked = now;
      count++;
    } while (asked < end);
    runs.merge(role, count, Long::sum);
    return end;
  }

  private void note(Role role, double millis, boolean first) {
    if (role == Role.INFERENCE) {
      latencies.add(millis);
      if (first) {
        firsts.add(millis);
      }
    }
  }

  /** Runs by role. */
  Map<Role, Long> runs() {
    return runs;
  }

  /** Runs of a role in each of its turns. */
  double runsATurn(Role role) {
    return runs.getOrDefault(role, 0L) / (turns / 2.0);
  }

  /** Of inference, in milliseconds. */
  Samples latencies() {
    return latencies;
  }

  /** Those of each turn's first request. */
  Samples firsts() {
    return firsts;
  }

  int turns() {
    return turns;
  }

  /** From the beginning of first turns to the end of last ones. */
  double seconds() {
    return nanos / NANOS_PER_SECOND;
  }

  /** Bytes of weights that were moved meanwhile. */
  long movedBytes() {
    return movedBytes;
  }
}
