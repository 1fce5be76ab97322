package io.pipelane.bench.switching;

import io.pipelane.bench.local.LocalCaller;
import io.pipelane.bench.measure.Run;
import io.pipelane.bench.measure.Timing;
import java.util.List;

/**
 * One of the contestants of a comparison, which run in turn.
 *
 * @param prepare what has to be so before each run; its time does not count
 * @param run what is timed
 */
record Contestant(Row row, Run prepare, Run run) {
  /**
   * Lets all run in turn, so that drift of the machine hits all alike.
   *
   * @param warmup turns that do not count
   */
  static void measure(List<Contestant> all, int warmup, int iterations, Measured measured)
      throws Exception {
    for (int turn = -warmup; turn < iterations; turn++) {
      for (Contestant contestant : all) {
        contestant.prepare.run();
        double millis = Timing.millis(contestant.run);
        if (turn >= 0) {
          measured.of(contestant.row).add(millis);
        }
      }
    }
  }

  /**
   * Measures what a run takes behind the queue.
   *
   * @param turn does not count where it is negative
   */
  static void measureRunAlone(LocalCaller caller, Row row, int turn, Measured measured) {
    caller.run();
    if (turn >= 0) {
      measured.of(row).add(caller.timings().executeNanos() / 1e6);
    }
  }
}
