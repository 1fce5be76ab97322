package io.pipelane.bench.grouping;

import io.pipelane.switcher.grouping.PipelineModel;
import io.pipelane.switcher.grouping.PipelineModel.Segment;
import java.time.Duration;
import java.util.function.LongSupplier;

/**
 * PipeSwitch's search for the best groups, as printed (§4.2, Algorithm 1): the reference that ours
 * is compared with. Belongs to one thread, whose stack must hold a call for each layer.
 *
 * <p>T(i, j) includes what waiting for a group costs, T of an empty range is 0, and B.delay counts
 * from the end of B's transmission. Every call starts from groups of ten layers, as the paper says
 * it does in practice.
 */
final class PipeSwitchSearch {
  private static final int BOOTSTRAP_LAYERS = 10;
  private static final int CALLS_BETWEEN_LOOKS = 1_024;

  private final PipelineModel model;
  private final boolean boundPruning;
  private final boolean delayPruning;
  private final LongSupplier nanoClock;
  private final int layers;
  private final long[] bytesBefore;
  private final long[] nanosBefore;
  private long deadlineNanos;
  private long calls;
  private boolean stopped;

  /**
   * The outcome.
   *
   * @param totalNanos of the best groups found, from the first copy's begin
   * @param finished whether the search ended by itself
   * @param calls of the recursive function
   */
  record Found(long totalNanos, boolean finished, long calls, Duration time) {}

  /**
   * A search.
   *
   * @param boundPruning whether cases are left out whose lower bound is too high (lines 12 to 19)
   * @param delayPruning whether groups are left out that end before j* (lines 3 to 9)
   */
  PipeSwitchSearch(
      PipelineModel model, boolean boundPruning, boolean delayPruning, LongSupplier nanoClock) {
    this.model = model;
    this.boundPruning = boundPruning;
    this.delayPruning = delayPruning;
    this.nanoClock = nanoClock;
    layers = model.segments().size();
    bytesBefore = new long[layers + 1];
    nanosBefore = new long[layers + 1];
    for (int i = 0; i < layers; i++) {
      Segment layer = model.segments().get(i);
      bytesBefore[i + 1] = bytesBefore[i] + layer.bytes();
      nanosBefore[i + 1] = nanosBefore[i] + layer.executionNanos();
    }
  }

  /** Searches; a search that takes longer than the limit ends with the best found until then. */
  Found search(Duration limit) {
    calls = 0;
    stopped = false;
    long begin = nanoClock.getAsLong();
    deadlineNanos = begin + limit.toNanos();
    long best = find(0, 0);
    return new Found(best, !stopped, calls, Duration.ofNanos(nanoClock.getAsLong() - begin));
  }

  /**
   * FindOptGrouping: the least time from the end of B's transmission on.
   *
   * @param delay B.delay: what is left to compute of B then
   * @param x the first layer behind B
   */
  private long find(long delay, int x) {
    if (x == layers) {
      return delay;
    }
    if (++calls % CALLS_BETWEEN_LOOKS == 0) {
      stopped |= nanoClock.getAsLong() >= deadlineNanos;
    }
    long best = inGroupsOfTen(delay, x);
    int last = layers - 1;
    for (int i = delayPruning ? firstWorthTrying(delay, x) : x; i <= last && !stopped; i++) {
      long copy = copyNanos(x, i);
      if (boundPruning) {
        long transmission = copy + copyNanos(i + 1, last);
        long execution = Math.max(copy, delay) + executionNanos(x, last);
        if (Math.min(transmission, execution) > best) {
          continue;
        }
      }
      best = Math.min(best, copy + find(delayBehind(delay, x, i), i + 1));
    }
    return best;
  }

  /** j*: up to here a group's transmission is hidden by what is left to compute. */
  private int firstWorthTrying(long delay, int x) {
    int least = x;
    for (int i = x; i < layers && copyNanos(x, i) <= delay; i++) {
      least = i;
    }
    return least;
  }

  private long inGroupsOfTen(long delay, int x) {
    long transmitted = 0;
    long left = delay;
    for (int begin = x; begin < layers; begin += BOOTSTRAP_LAYERS) {
      int end = Math.min(layers, begin + BOOTSTRAP_LAYERS) - 1;
      left = delayBehind(left, begin, end);
      transmitted += copyNanos(begin, end);
    }
    return transmitted + left;
  }

  /** What is left to compute when another group has been transmitted. */
  private long delayBehind(long delay, int x, int i) {
    long copy = copyNanos(x, i);
    return Math.max(copy, delay) + executionNanos(x, i) - copy;
  }

  private long copyNanos(int first, int last) {
    long bytes = bytesBefore[last + 1] - bytesBefore[first];
    return bytes == 0 ? 0 : model.link().copyNanos(bytes) + model.waitNanos();
  }

  private long executionNanos(int first, int last) {
    return nanosBefore[last + 1] - nanosBefore[first];
  }
}
