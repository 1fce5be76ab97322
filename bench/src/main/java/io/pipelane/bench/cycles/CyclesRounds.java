package io.pipelane.bench.cycles;

import io.pipelane.bench.cycles.Way.Role;
import io.pipelane.bench.measure.Samples;
import io.pipelane.bench.report.Results;
import java.time.Duration;
import java.util.List;

/** The rounds of {@code bench cycles}: cycles of all lengths by one way after another. */
final class CyclesRounds {
  /** Parts into which the turns of short cycles are cut, to measure the bound between them. */
  private static final int PARTS = 8;

  /** How often the turns' length they may take where a switch takes longer than a turn. */
  private static final int LONGEST = 2;

  /** Of the turns' length, what the bound is measured for, each model. */
  private static final int ALONE_SHARE = 4;

  private static final double MEGA = 1e6;
  private static final double NANOS_PER_SECOND = 1e9;

  private final List<Duration> cycles;
  private final Duration length;
  private final Results results;

  /**
   * Measures nothing yet.
   *
   * @param length of the turns of one cycle together, at least
   */
  CyclesRounds(List<Duration> cycles, Duration length, Results results) {
    this.cycles = cycles;
    this.length = length;
    this.results = results;
  }

  /** Measures every cycle by a way, after runs of both models that do not count. */
  void measure(String name, Way way) throws Exception {
    new Alone(way).measure(length.toNanos() / ALONE_SHARE);
    for (Duration cycle : cycles) {
      Alone alone = new Alone(way);
      TurnTaking turns = new TurnTaking(way);
      long pairs = Math.ceilDiv(length.toNanos(), 2 * cycle.toNanos());
      int parts = (int) Math.min(PARTS, pairs);
      long aloneNanos = length.toNanos() / ALONE_SHARE / (parts + 1);
      long longest = LONGEST * Math.max(length.toNanos(), 2 * pairs * cycle.toNanos());
      long begin = System.nanoTime();
      alone.measure(aloneNanos);
      boolean late = false;
      for (int part = 0; part < parts && !late; part++) {
        turns.take(Math.toIntExact(Math.ceilDiv(pairs, parts)), cycle, longest / parts);
        alone.measure(aloneNanos);
        late = System.nanoTime() - begin > longest;
      }
      double seconds = cycle.toNanos() / NANOS_PER_SECOND;
      boolean whole = seconds == Math.rint(seconds);
      add("%s s, %s".formatted(whole ? (long) seconds : "" + seconds, name), turns, alone);
      add("alone, " + name, alone.of(Role.INFERENCE));
    }
  }

  private void add(String name, TurnTaking turns, Alone alone) {
    results.add(name, CyclesColumns.SHARE, alone.seconds(turns.runs()) / turns.seconds());
    add(name, turns.latencies());
    results.add(name, CyclesColumns.FIRST, turns.firsts().median());
    results.add(name, CyclesColumns.BACKGROUND, turns.runsATurn(Role.BACKGROUND));
    results.add(name, CyclesColumns.INFERENCE, turns.runsATurn(Role.INFERENCE));
    results.add(name, CyclesColumns.TURNS, turns.turns());
    if (turns.movedBytes() > 0) {
      results.add(name, CyclesColumns.MOVED, turns.movedBytes() / MEGA / turns.turns());
    }
  }

  private void add(String name, Samples latencies) {
    results.add(name, CyclesColumns.LEAST, latencies.quantile(0));
    results.add(name, CyclesColumns.MEAN, latencies.mean());
    results.add(name, CyclesColumns.MOST, latencies.quantile(1));
  }
}
