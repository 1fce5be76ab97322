package io.pipelane.runtime.graph;

import ai.onnx.proto.OnnxMl.NodeProto;
import ai.onnx.proto.OnnxMl.TensorProto;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** Finds the weights of which a run reads a few rows, as it does of an embedding table. */
final class RowReads {
  /** Below this a weight is not worth the mapping of its own pages. */
  static final long MINIMUM_BYTES = 64 << 10;

  private RowReads() {}

  /**
   * The large weights that are read by rows and in no other way, in the order of execution.
   *
   * @param weights that are read by nodes themselves, not inside their bodies
   */
  static Set<String> of(List<NodeProto> order, Map<String, TensorProto> weights) {
    Set<String> byRows = new LinkedHashSet<>();
    for (NodeProto node : order) {
      for (int i = 0; i < node.getInputCount(); i++) {
        TensorProto weight = weights.get(node.getInput(i));
        if (weight != null
            && isByRows(node, i)
            && TensorContent.byteSize(weight) >= MINIMUM_BYTES) {
          byRows.add(weight.getName());
        }
      }
    }
    for (NodeProto node : order) {
      for (int i = 0; i < node.getInputCount(); i++) {
        if (!isByRows(node, i)) {
          byRows.remove(node.getInput(i));
        }
      }
    }
    return byRows;
  }

  /** Whether a node takes rows of an input, the ones that another input names. */
  static boolean isByRows(NodeProto node, int input) {
    return input == 0
        && node.getOpType().equals("Gather")
        && node.getDomain().isEmpty()
        && node.getAttributeList().stream()
            .filter(attribute -> attribute.getName().equals("axis"))
            .allMatch(attribute -> attribute.getI() == 0);
  }
}
