package io.pipelane.runtime.graph;

import ai.onnx.proto.OnnxMl.NodeProto;
import java.util.Map;
import java.util.Set;

/** The inputs that operators read in ordinary memory: shapes, counts, axes and bounds. */
final class HostInputs {
  private static final Map<String, Set<Integer>> SHAPES =
      Map.ofEntries(
          Map.entry("CenterCropPad", Set.of(1)),
          Map.entry("ConstantOfShape", Set.of(0)),
          Map.entry("CumSum", Set.of(1)),
          Map.entry("Expand", Set.of(1)),
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

  /** Numbers that GPU kernels pass as arguments; to the processor they are like other constants. */
  private static final Map<String, Set<Integer>> ARGUMENTS =
      Map.of(
          "Clip", Set.of(1, 2),
          "Dropout", Set.of(1, 2),
          "GroupQueryAttention", Set.of(6),
          "MatMulInteger", Set.of(2, 3),
          "Pad", Set.of(2),
          "QAttention", Set.of(3, 4, 6, 7),
          "SequenceAt", Set.of(1),
          "SplitToSequence", Set.of(1));

  /** Positions that lie beside the tensor that they index. */
  private static final Set<String> INDEXED = Set.of("Gather", "GatherND");

  private HostInputs() {}

  /** Whether an operator reads an input on the host even when it runs on a GPU. */
  static boolean isHost(NodeProto node, int input) {
    return isIn(SHAPES, node, input)
        || isIn(ARGUMENTS, node, input)
        || (node.getOpType().startsWith("Reduce") && input == 1);
  }

  /** Whether a constant that an operator reads there stays in the session, whatever its size. */
  static boolean staysConstant(NodeProto node, int input) {
    return isIn(SHAPES, node, input)
        || (input == 1
            && (INDEXED.contains(node.getOpType()) || node.getOpType().startsWith("Reduce")));
  }

  private static boolean isIn(Map<String, Set<Integer>> inputs, NodeProto node, int input) {
    return inputs.getOrDefault(node.getOpType(), Set.of()).contains(input);
  }
}
