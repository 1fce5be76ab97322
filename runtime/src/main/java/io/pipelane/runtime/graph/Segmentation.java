package io.pipelane.runtime.graph;

import ai.onnx.proto.OnnxMl.NodeProto;
import ai.onnx.proto.OnnxMl.TensorProto;
import io.pipelane.runtime.graph.content.Scopes;
import io.pipelane.runtime.graph.content.TensorContent;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.IntPredicate;

/**
 * The segment of each node. Cuts leave about equal bytes of weights between them but for the first
 * ones, and each is before a node that is the first to read some weight.
 *
 * @param segmentOf by position in the order of execution, ascending
 */
record Segmentation(List<Integer> segmentOf, int segments) {
  Segmentation {
    segmentOf = List.copyOf(segmentOf);
  }

  /**
   * Chooses the cuts.
   *
   * @param order the nodes as they are executed
   * @param weights what is streamed
   * @param headStart see {@link GraphTarget#headStart}
   * @param mayCut whether a gate can stand before the node at a position
   */
  static Segmentation of(
      List<NodeProto> order,
      Map<String, TensorProto> weights,
      CutSettings settings,
      int headStart,
      IntPredicate mayCut) {
    long remaining =
        weights.values().stream()
            .mapToLong(tensor -> GatedGraph.align(TensorContent.byteSize(tensor)))
            .reduce(0, Math::addExact);
    List<Integer> segmentOf = new ArrayList<>(order.size());
    Set<String> read = new HashSet<>();
    int segment = 0;
    long inSegment = 0;
    long target = target(remaining, settings, headStart, 0);
    for (int k = 0; k < order.size(); k++) {
      long added = 0;
      for (String name : Scopes.reads(order.get(k))) {
        TensorProto weight = weights.get(name);
        if (weight != null && read.add(name)) {
          added += GatedGraph.align(TensorContent.byteSize(weight));
        }
      }
      boolean full =
          inSegment >= settings.minimumSegmentBytes()
              && remaining >= settings.minimumSegmentBytes()
              && segment + 1 < settings.maximumSegments()
              && inSegment + added / 2 >= target;
      if (added > 0 && full && mayCut.test(k)) {
        segment++;
        inSegment = 0;
        target = target(remaining, settings, headStart, segment);
      }
      segmentOf.add(segment);
      inSegment += added;
      remaining -= added;
    }
    return new Segmentation(segmentOf, segment + 1);
  }

  /**
   * The same with more cuts.
   *
   * @param positions of the nodes before which they lie
   */
  Segmentation cutAt(BitSet positions) {
    List<Integer> finer = new ArrayList<>(segmentOf.size());
    int more = 0;
    for (int k = 0; k < segmentOf.size(); k++) {
      more += positions.get(k) ? 1 : 0;
      finer.add(segmentOf.get(k) + more);
    }
    return new Segmentation(finer, segments + more);
  }

  private static long target(long remaining, CutSettings settings, int headStart, int segment) {
    long equal = remaining / (settings.maximumSegments() - segment);
    int smaller = Math.max(1, headStart >> segment);
    return Math.max(settings.minimumSegmentBytes(), equal / smaller);
  }
}
