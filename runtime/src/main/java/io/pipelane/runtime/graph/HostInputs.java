package io.pipelane.runtime.graph;

import ai.onnx.proto.OnnxMl.NodeProto;
import java.util.Map;
import java.util.Set;

/**
 * The inputs that operators read on the host to find out shapes, counts or positions; constants
 * there stay in the session.
 */
final class HostInputs {
  private static final Map<String, Set<Integer>> POSITIONS =
      Map.ofEntries(
          Map.entry("CenterCropPad", Set.of(1)),
          Map.entry("ConstantOfShape", Set.of(0)),
          Map.entry("CumSum", Set.of(1)),
          Map.entry("Expand", Set.of(1)),
          Map.entry("Gather", Set.of(1)),
          Map.entry("GatherND", Set.of(1)),
          Map.entry("If", Set.of(0)),
          Map.entry("Loop", Set.of(0, 1)),
          Map.entry("NonMaxSuppression", Set.of(2, 3, 4)),
          Map.entry("OneHot", Set.of(1)),
          Map.entry("Pad", Set.of(1, 3)),
          Map.entry("Range", Set.of(0, 1, 2)),
          Map.entry("Reshape", Set.of(1)),
          Map.entry("Resize", Set.of(1, 2, 3)),
          Map.entry("Slice", Set.of(1, 2, 3, 4)),
          Map.entry("Split", Set.of(1)),
          Map.entry("Squeeze", Set.of(1)),
          Map.entry("Tile", Set.of(1)),
          Map.entry("TopK", Set.of(1)),
          Map.entry("Trilu", Set.of(1)),
          Map.entry("Unsqueeze", Set.of(1)),
          Map.entry("Upsample", Set.of(1)));

  private HostInputs() {}

  static boolean isHost(NodeProto node, int input) {
    boolean reducesAxes = node.getOpType().startsWith("Reduce") && input == 1;
    return reducesAxes || POSITIONS.getOrDefault(node.getOpType(), Set.of()).contains(input);
  }
}
