package io.pipelane.runtime.graph;

import ai.onnx.proto.OnnxMl.NodeProto;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.List;

/**
 * The cutting of segments that would take too long, so that a run can give way inside them. Weights
 * decide nothing about them: a segment may have none.
 *
 * <p>Afterwards each segment takes no longer than the limit, or there is no place inside it at
 * which a cut could be made. Of all such cuts those are chosen that cost least: few, and where few
 * new values pass.
 *
 * <p>Two things raise the limit: a graph that would get very many segments, and new gates that
 * would take more than a hundredth of a run, one with small inputs where their sizes are open.
 */
final class TimeCuts {
  /*
   * Within a stretch, places 0 to m are its begin, wherever it may be cut, and its end.
   *
   *   cost(0) = 0
   *   cost(j) = min over i < j: cost(i) + gate(i, j)   where i to j takes no longer than the limit,
   *                                                    or i = j - 1
   *
   * gate(i, j) depends on the place before, because a gate passes what was produced since the last
   * one. At the stretch's end stands a gate already, or nothing.
   */
  private static final int MOST_SEGMENTS = 256;
  private static final int MOST_SHARE = 100;

  private final Liveness liveness;
  private final DeviceSpeed speed;
  private final long[] begins;

  /** By position: up to which others the values that the node produces are needed. */
  private final int[][] neededUntil;

  private TimeCuts(long[] nodeNanos, List<NodeProto> order, Liveness liveness, DeviceSpeed speed) {
    this.liveness = liveness;
    this.speed = speed;
    neededUntil =
        order.stream()
            .map(node -> node.getOutputList().stream().mapToInt(liveness::neededUntil).toArray())
            .toArray(int[][]::new);
    begins = new long[nodeNanos.length + 1];
    for (int k = 0; k < nodeNanos.length; k++) {
      begins[k + 1] = begins[k] + nodeNanos[k];
    }
  }

  /** The cuts chosen, and what the new gates cost a run. */
  private record Choice(BitSet cuts, long nanos) {}

  /**
   * Cuts further what takes too long.
   *
   * @param order the nodes as they are executed
   * @param nodeNanos estimates by position
   * @param limitNanos no segment is to take longer
   * @param smallShare the part of the estimates that a run with small inputs takes, but for what
   *     nodes take at least
   */
  static Segmentation refine(
      Segmentation segmentation,
      List<NodeProto> order,
      long[] nodeNanos,
      Liveness liveness,
      DeviceSpeed speed,
      long limitNanos,
      double smallShare) {
    TimeCuts cuts = new TimeCuts(nodeNanos, order, liveness, speed);
    long total = cuts.begins[nodeNanos.length];
    long limit = Math.max(limitNanos, total / MOST_SEGMENTS);
    long least = Math.min(total, order.size() * speed.nodeNanos());
    double mostNanos = (least + (total - least) * smallShare) / MOST_SHARE;
    Choice choice = cuts.choose(segmentation, limit);
    while (choice.nanos > mostNanos) {
      limit *= 2;
      choice = cuts.choose(segmentation, limit);
    }
    return segmentation.cutAt(choice.cuts);
  }

  private Choice choose(Segmentation segmentation, long limit) {
    BitSet cuts = new BitSet();
    long nanos = 0;
    int begin = 0;
    for (int end = 1; end <= neededUntil.length; end++) {
      if (end == neededUntil.length
          || !segmentation.segmentOf().get(end).equals(segmentation.segmentOf().get(begin))) {
        nanos += cut(begin, end, limit, cuts);
        begin = end;
      }
    }
    return new Choice(cuts, nanos);
  }

  /** Cuts one stretch; tells the cost. */
  private long cut(int begin, int end, long limit, BitSet cuts) {
    if (begins[end] - begins[begin] <= limit) {
      return 0;
    }
    List<Integer> places = places(begin, end);
    int last = places.size() - 1;
    long[] cost = new long[last + 1];
    int[] before = new int[last + 1];
    for (int j = 1; j <= last; j++) {
      cost[j] = Long.MAX_VALUE;
      int to = places.get(j);
      long passing = 0;
      for (int i = j - 1; i >= 0; i--) {
        int from = places.get(i);
        if (i < j - 1 && begins[to] - begins[from] > limit) {
          break;
        }
        passing += passing(from, places.get(i + 1), to);
        long gate = j == last ? 0 : speed.gateNanos() + passing * speed.gatedTensorNanos();
        if (cost[i] + gate < cost[j]) {
          cost[j] = cost[i] + gate;
          before[j] = i;
        }
      }
    }
    for (int j = before[last]; j > 0; j = before[j]) {
      cuts.set(places.get(j));
    }
    return cost[last];
  }

  private List<Integer> places(int begin, int end) {
    List<Integer> places = new ArrayList<>();
    places.add(begin);
    for (int k = begin + 1; k < end; k++) {
      if (liveness.mayCut(k)) {
        places.add(k);
      }
    }
    places.add(end);
    return places;
  }

  /** How many values of the nodes from one position to another pass a gate at a third. */
  private long passing(int from, int to, int gate) {
    long count = 0;
    for (int k = from; k < to; k++) {
      for (int until : neededUntil[k]) {
        count += until >= gate ? 1 : 0;
      }
    }
    return count;
  }
}
