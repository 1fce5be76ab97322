package io.pipelane.runtime.graph;

import ai.onnx.proto.OnnxMl.GraphProto;
import ai.onnx.proto.OnnxMl.NodeProto;
import ai.onnx.proto.OnnxMl.TensorProto;
import ai.onnx.proto.OnnxMl.ValueInfoProto;
import io.pipelane.runtime.TensorType;
import io.pipelane.runtime.graph.content.Scopes;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * The values that ONNX Runtime keeps in ordinary memory although kernels run on a GPU: shapes, and
 * what is computed from shapes and small constants alone.
 *
 * @param ungated values that must not pass a gate: it takes its tensors in device memory, so they
 *     would be copied there and back. They depend on no streamed weight
 * @param constants constants that are read on the host, which therefore stay in the session
 */
record HostValues(Set<String> ungated, Set<String> constants) {
  /** Where every value lies in one memory. */
  static final HostValues NONE = new HostValues(Set.of(), Set.of());

  /** ONNX Runtime moves no constant of more elements than this to the processor. */
  private static final int SMALL_CONSTANT = 100;

  HostValues {
    ungated = Set.copyOf(ungated);
    constants = Set.copyOf(constants);
  }

  /**
   * Finds them, by the rules of ONNX Runtime's own placement (its {@code GetCpuPreferredNodes}): a
   * reader of a host value runs on the processor when each of its inputs is a host value that its
   * GPU kernel would want on the device, a small constant or an input of the graph.
   *
   * @param order the graph's nodes, producers before readers
   */
  static HostValues of(GraphProto graph, List<NodeProto> order, ElementTypes types) {
    Search search = new Search(graph, types);
    order.forEach(search::visit);
    search.constants.retainAll(search.initializers.keySet());
    return new HostValues(search.ungated, search.constants);
  }

  /** One pass over a graph. */
  private static final class Search {
    private final ElementTypes types;
    private final Map<String, TensorProto> initializers = new HashMap<>();
    private final Set<String> graphInputs = new HashSet<>();
    private final Set<String> host = new HashSet<>();
    private final Set<String> ungated = new HashSet<>();
    private final Set<String> constants = new HashSet<>();

    Search(GraphProto graph, ElementTypes types) {
      this.types = types;
      graph.getInitializerList().forEach(tensor -> initializers.put(tensor.getName(), tensor));
      graph.getInputList().stream().map(ValueInfoProto::getName).forEach(graphInputs::add);
      graphInputs.removeAll(Scopes.constants(graph));
    }

    void visit(NodeProto node) {
      for (int i = 0; i < node.getInputCount(); i++) {
        if (HostInputs.isHost(node, i)) {
          (graphInputs.contains(node.getInput(i)) ? ungated : constants).add(node.getInput(i));
        }
      }
      boolean measures = node.getOpType().equals("Shape") || node.getOpType().equals("Size");
      if (measures || isComputedFromHostValues(node)) {
        host.addAll(node.getOutputList());
        ungated.addAll(node.getOutputList());
        host.remove("");
        ungated.remove("");
      }
    }

    /** Also notes the constants and inputs of the graph that such a node reads. */
    private boolean isComputedFromHostValues(NodeProto node) {
      List<String> reads =
          Scopes.reads(node).stream().filter(name -> !graphInputs.contains(name)).toList();
      boolean apart = Scopes.bodies(node).isEmpty() && reads.stream().anyMatch(host::contains);
      for (int i = 0; i < node.getInputCount(); i++) {
        String name = node.getInput(i);
        boolean wantedOnHost = host.contains(name) && HostInputs.isHost(node, i);
        apart &= !wantedOnHost && !isHalf(name);
      }
      if (!apart || !reads.stream().allMatch(n -> host.contains(n) || isConstant(n))) {
        return false;
      }
      // As an input of the graph even a large constant would let the node move to the processor.
      reads.stream().filter(this::isConstant).forEach(constants::add);
      node.getInputList().stream().filter(graphInputs::contains).forEach(ungated::add);
      return reads.stream().filter(this::isConstant).allMatch(this::isSmall);
    }

    private boolean isConstant(String name) {
      return initializers.containsKey(name);
    }

    private boolean isSmall(String name) {
      long elements = 1;
      for (long dimension :
          initializers.getOrDefault(name, TensorProto.getDefaultInstance()).getDimsList()) {
        elements = dimension > SMALL_CONSTANT ? SMALL_CONSTANT + 1L : elements * dimension;
        elements = Math.min(elements, SMALL_CONSTANT + 1L);
      }
      return elements <= SMALL_CONSTANT;
    }

    private boolean isHalf(String name) {
      int type = types.of(name).orElse(0);
      return type == TensorType.FP16.onnx() || type == TensorType.BF16.onnx();
    }
  }
}
