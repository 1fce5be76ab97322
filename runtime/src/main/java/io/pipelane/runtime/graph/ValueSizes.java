package io.pipelane.runtime.graph;

import ai.onnx.proto.OnnxMl.GraphProto;
import ai.onnx.proto.OnnxMl.ModelProto;
import ai.onnx.proto.OnnxMl.NodeProto;
import ai.onnx.proto.OnnxMl.ValueInfoProto;
import io.pipelane.runtime.graph.content.Scopes;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** The operators whose outputs are as large as their inputs' values say, not their shapes. */
public final class ValueSizes {
  /** Those that pick by content. */
  private static final Set<String> PICKING =
      Set.of("Compress", "NonMaxSuppression", "NonZero", "Unique");

  /** Which inputs of others say how large an output becomes; it may be larger than all of them. */
  private static final Map<String, Set<Integer>> SIZES =
      Map.of(
          "CenterCropPad", Set.of(1),
          "ConstantOfShape", Set.of(0),
          "Expand", Set.of(1),
          "OneHot", Set.of(1),
          "Pad", Set.of(1),
          "Range", Set.of(0, 1, 2),
          "Resize", Set.of(2, 3),
          "Tile", Set.of(1),
          "Upsample", Set.of(1));

  /** What they answer follows from shapes. */
  private static final Set<String> SHAPES = Set.of("Shape", "Size");

  private ValueSizes() {}

  /** Whether a model has any that follow the values of its inputs; {@code Loop} apart. */
  public static boolean isIn(ModelProto model) {
    GraphProto graph = model.getGraph();
    Set<String> values = new HashSet<>();
    graph.getInputList().stream().map(ValueInfoProto::getName).forEach(values::add);
    values.removeAll(Scopes.constants(graph));
    return isIn(graph.getNodeList(), values);
  }

  /**
   * Whether some nodes are such.
   *
   * @param values names of what follows the inputs' values; the nodes' own are added
   */
  private static boolean isIn(List<NodeProto> nodes, Set<String> values) {
    for (NodeProto node : nodes) {
      if (isSized(node, values)
          || Scopes.bodies(node).stream().anyMatch(body -> isIn(body.getNodeList(), values))) {
        return true;
      }
      if (!SHAPES.contains(node.getOpType())
          && Scopes.reads(node).stream().anyMatch(values::contains)) {
        values.addAll(node.getOutputList());
      }
    }
    return false;
  }

  private static boolean isSized(NodeProto node, Set<String> values) {
    boolean picks = PICKING.contains(node.getOpType());
    Set<Integer> sizes = SIZES.getOrDefault(node.getOpType(), Set.of());
    for (int i = 0; i < node.getInputCount(); i++) {
      if ((picks || sizes.contains(i)) && values.contains(node.getInput(i))) {
        return true;
      }
    }
    return false;
  }
}
