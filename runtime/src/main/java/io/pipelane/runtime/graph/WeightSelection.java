package io.pipelane.runtime.graph;

import ai.onnx.proto.OnnxMl.GraphProto;
import ai.onnx.proto.OnnxMl.NodeProto;
import ai.onnx.proto.OnnxMl.TensorProto;
import ai.onnx.proto.OnnxMl.ValueInfoProto;
import io.pipelane.runtime.TensorType;
import io.pipelane.runtime.graph.content.Scopes;
import io.pipelane.runtime.graph.content.TensorContent;
import java.util.Arrays;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;

/**
 * The choice of the constants of a model that are streamed.
 *
 * <p>What stays in the session: constants below a size, integers that operators read on the host,
 * constants read inside the bodies of {@code If} and {@code Loop}, and those that are also inputs
 * or outputs of the graph.
 *
 * @param target what computes: constants that shapes are computed from stay on the host
 * @param minimumBytes numbers from this size on are streamed
 * @param minimumVectorBytes the same for vectors, which are biases and scales: there are many of
 *     them, and each input costs every run something
 * @param minimumIntegerBytes the same for 32-bit and 64-bit integers and booleans, which are mostly
 *     shapes, axes and indices while they are small
 * @param keep names that stay whatever their size, because an operator insists on a constant
 */
public record WeightSelection(
    GraphTarget target,
    long minimumBytes,
    long minimumVectorBytes,
    long minimumIntegerBytes,
    Set<String> keep) {
  public static final WeightSelection DEFAULT =
      new WeightSelection(GraphTarget.PROCESSOR, 1 << 10, 16 << 10, 16 << 10, Set.of());

  /** Numbers of every size: what differs between versions of one structure. */
  public static final WeightSelection SHARED_STRUCTURE =
      new WeightSelection(GraphTarget.GPU, 1, 1, 16 << 10, Set.of());

  private static final Map<Integer, TensorType> STREAMABLE =
      Arrays.stream(TensorType.values())
          .filter(type -> type.byteWidth() > 0)
          .collect(Collectors.toMap(TensorType::onnx, type -> type));

  public WeightSelection {
    keep = Set.copyOf(keep);
  }

  /** The same rules with more names that stay. */
  public WeightSelection keeping(Set<String> more) {
    Set<String> names = new HashSet<>(keep);
    names.addAll(more);
    return new WeightSelection(
        target, minimumBytes, minimumVectorBytes, minimumIntegerBytes, names);
  }

  /**
   * The initializers to stream, by name, in the order of the file.
   *
   * @throws io.pipelane.config.StatusException when one of them has an impossible shape
   */
  public Map<String, TensorProto> select(GraphProto graph) {
    Set<String> staying = staying(graph);
    Set<String> read = new HashSet<>();
    graph.getNodeList().forEach(node -> read.addAll(node.getInputList()));
    Map<String, TensorProto> selected = new LinkedHashMap<>();
    for (TensorProto tensor : graph.getInitializerList()) {
      String name = tensor.getName();
      if (read.contains(name) && !staying.contains(name) && isLargeEnough(tensor)) {
        selected.put(name, tensor);
      }
    }
    return selected;
  }

  private boolean isLargeEnough(TensorProto tensor) {
    TensorType type = STREAMABLE.get(tensor.getDataType());
    if (type == null) {
      return false;
    }
    return TensorContent.byteSize(tensor) >= minimumBytes(tensor, type);
  }

  private long minimumBytes(TensorProto tensor, TensorType type) {
    if (isIndexLike(type)) {
      return minimumIntegerBytes;
    }
    return isVector(tensor) ? minimumVectorBytes : minimumBytes;
  }

  private static boolean isVector(TensorProto tensor) {
    return tensor.getDimsList().stream().filter(dimension -> dimension != 1).count() <= 1;
  }

  private Set<String> staying(GraphProto graph) {
    Set<String> names = new HashSet<>(keep);
    names.addAll(hostConstants(graph));
    graph.getInputList().stream().map(ValueInfoProto::getName).forEach(names::add);
    graph.getOutputList().stream().map(ValueInfoProto::getName).forEach(names::add);
    for (NodeProto node : graph.getNodeList()) {
      names.addAll(Scopes.implicitReads(node));
      for (int i = 0; i < node.getInputCount(); i++) {
        if (HostInputs.staysConstant(node, i)) {
          names.add(node.getInput(i));
        }
      }
    }
    return names;
  }

  private Set<String> hostConstants(GraphProto graph) {
    List<NodeProto> order = NodeOrder.of(graph);
    return target.hostValues(graph, order, ElementTypes.of(graph, order)).constants();
  }

  private static boolean isIndexLike(TensorType type) {
    return switch (type) {
      case INT32, INT64, UINT32, UINT64, BOOL -> true;
      case FP32, FP16, BF16, FP64, INT8, UINT8, INT16, UINT16, BYTES -> false;
    };
  }
}
