package io.pipelane.runtime.graph;

import ai.onnx.proto.OnnxMl.NodeProto;
import ai.onnx.proto.OnnxMl.TensorProto;
import io.pipelane.runtime.graph.content.TensorContent;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** The weights of which a run reads a few rows, as it does of an embedding table. */
final class RowReads {
  /**
   * The least that is worth reading in place.
   *
   * @param bytes of the whole weight
   * @param rows of it
   */
  record Least(long bytes, long rows) {
    /** Below this a weight is not worth the mapping of its own pages. */
    static final Least MAPPED = new Least(64 << 10, 0);

    /**
     * A device reads rows over its link at some third of the rate that copies come in at, and reads
     * them again in every run. So a table pays whose rows are three times those that a large
     * request names, 2,048 or so; and the copy of one below a mebibyte takes some 20 µs.
     */
    static final Least OVER_THE_LINK = new Least(1 << 20, 6 << 10);

    private boolean admits(TensorProto weight) {
      return TensorContent.byteSize(weight) >= bytes
          && weight.getDimsCount() > 0
          && weight.getDims(0) >= rows;
    }
  }

  private RowReads() {}

  /**
   * The large weights that are read by rows and in no other way, in the order of execution.
   *
   * @param weights that are read by nodes themselves, not inside their bodies
   */
  static Set<String> of(List<NodeProto> order, Map<String, TensorProto> weights, Least least) {
    Set<String> byRows = new LinkedHashSet<>();
    for (NodeProto node : order) {
      for (int i = 0; i < node.getInputCount(); i++) {
        TensorProto weight = weights.get(node.getInput(i));
        if (weight != null && isByRows(node, i) && least.admits(weight)) {
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
