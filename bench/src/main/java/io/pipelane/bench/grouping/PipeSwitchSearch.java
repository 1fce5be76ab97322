package io.pipelane.bench.grouping;

import io.pipelane.switcher.grouping.Grouping.Group;
import io.pipelane.switcher.grouping.PipelineModel;
import io.pipelane.switcher.grouping.PipelineModel.Segment;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

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
   * @param groups the best found
   * @param finished whether the search ended by itself
   * @param calls of the recursive function
   */
  record Found(List<Group> groups, boolean finished, long calls, Duration time) {}

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
    Choice best = find(0, 0);
    Duration time = Duration.ofNanos(nanoClock.getAsLong() - begin);
    return new Found(groups(best), !stopped, calls, time);
  }

  /** Without those of no bytes, which nothing is copied for. */
  private List<Group> groups(Choice choice) {
    List<Group> groups = new ArrayList<>();
    int first = 0;
    for (@Nullable Choice next = choice; first < layers; next = next == null ? null : next.rest) {
      int behind = next == null ? Math.min(layers, first + BOOTSTRAP_LAYERS) : next.behind;
      if (bytesBefore[behind] > bytesBefore[first]) {
        groups.add(new Group(bytesBefore[first], bytesBefore[behind]));
      }
      first = behind;
    }
    return groups;
  }

  /**
   * Groups from some layer on.
   *
   * @param nanos their time from the end of the transmission before them
   * @param behind the first layer behind the first group
   * @param rest what comes then; null for groups of ten
   */
  private record Choice(long nanos, int behind, @Nullable Choice rest) {}

  /**
   * FindOptGrouping: the least time from the end of B's transmission on.
   *
   * @param delay B.delay: what is left to compute of B then
   * @param x the first layer behind B
   */
  private Choice find(long delay, int x) {
    if (x == layers) {
      return new Choice(delay, layers, null);
    }
    if (++calls % CALLS_BETWEEN_LOOKS == 0) {
      stopped |= nanoClock.getAsLong() >= deadlineNanos;
    }
    Choice best = new Choice(inGroupsOfTen(delay, x), Math.min(layers, x + BOOTSTRAP_LAYERS), null);
    int last = layers - 1;
    for (int i = delayPruning ? firstWorthTrying(delay, x) : x; i <= last && !stopped; i++) {
      long copy = copyNanos(x, i);
      if (boundPruning) {
        long transmission = copy + copyNanos(i + 1, last);
        long execution = Math.max(copy, delay) + executionNanos(x, last);
        if (Math.min(transmission, execution) > best.nanos) {
          continue;
        }
      }
      Choice rest = find(delayBehind(delay, x, i), i + 1);
      if (copy + rest.nanos < best.nanos) {
        best = new Choice(copy + rest.nanos, i + 1, rest);
      }
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
