package io.pipelane.runtime.graph;

import ai.onnx.proto.OnnxMl.AttributeProto;
import ai.onnx.proto.OnnxMl.GraphProto;
import ai.onnx.proto.OnnxMl.NodeProto;
import io.pipelane.runtime.graph.GatedGraph.Weight;
import io.pipelane.runtime.graph.content.Scopes;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Consumer;
import java.util.stream.Stream;

/**
 * The wiring of a cut graph: emits its nodes with the gates between them.
 *
 * <p>Of one use: it walks the order of execution once.
 */
final class GateWiring {
  /*
   * Invariants, at the beginning of segment g >= 1:
   *  - `current` maps each value that has passed a gate to the name it left the latest gate under;
   *  - `descended` holds the names that descend from gate g: its outputs, then every output of a
   *    node that reads one of them.
   * Through gate g passes what segment g - 1 has produced and somebody needs later, so the gate
   * waits for all of that segment. What is older passes only if a node of segment g would not
   * descend otherwise: then one value that the node reads, or one of its weights. Other values pass
   * the gate before their readers, or none. So a gate costs what lies about it, however much is live
   * across it: in a training step, all activations and all weights. A gate that shares no name with
   * its predecessor's descendants takes one of the predecessor's outputs along, so that the order
   * of gates is total.
   */
  private final GraphProto graph;
  private final List<NodeProto> order;
  private final Segmentation cuts;
  private final Liveness liveness;
  private final Set<String> weights = new HashSet<>();
  private final Set<String> taken = new HashSet<>();

  private final Map<String, String> current = new HashMap<>();
  private Set<String> descended = new LinkedHashSet<>();

  GateWiring(
      GraphProto graph,
      List<NodeProto> order,
      Segmentation cuts,
      Liveness liveness,
      Collection<Weight> weights) {
    this.graph = graph;
    this.order = order;
    this.cuts = cuts;
    this.liveness = liveness;
    weights.forEach(weight -> this.weights.add(weight.name()));
  }

  /** Hands out nodes and gates in the order of execution. */
  void nodes(Consumer<NodeProto> sink) {
    taken.addAll(Scopes.allNames(graph));
    int previous = 0;
    int begin = 0;
    for (int g = 0; g < cuts.segments(); g++) {
      int end = begin;
      while (end < order.size() && cuts.segmentOf().get(end) == g) {
        end++;
      }
      Map<String, String> names = new HashMap<>(current);
      if (g > 0) {
        sink.accept(gate(g, previous, begin, end));
        names = new HashMap<>(current);
        current.keySet().removeAll(weights);
      }
      for (NodeProto node : order.subList(begin, end)) {
        NodeProto renamed = Scopes.rename(node, names);
        noteDescent(renamed);
        sink.accept(renamed);
      }
      previous = begin;
      begin = end;
    }
  }

  private void noteDescent(NodeProto node) {
    if (Scopes.reads(node).stream().anyMatch(descended::contains)) {
      descended.addAll(node.getOutputList());
      descended.remove("");
    }
  }

  private NodeProto gate(int g, int previous, int begin, int end) {
    Set<String> passing = new LinkedHashSet<>();
    for (NodeProto node : order.subList(previous, begin)) {
      node.getOutputList().stream()
          .filter(name -> liveness.neededUntil(name) >= begin)
          .forEach(passing::add);
    }
    passing.addAll(heldBack(passing, begin, end));
    if (g == 1 && passing.isEmpty()) {
      liveness.spans().keySet().stream()
          .filter(name -> crosses(name, begin))
          .findFirst()
          .ifPresent(passing::add);
    }

    NodeProto.Builder gate =
        NodeProto.newBuilder()
            .setOpType(GatedGraph.GATE_OPERATOR)
            .setDomain(GatedGraph.GATE_DOMAIN)
            .setName(fresh("gate_" + g))
            .addAttribute(
                AttributeProto.newBuilder()
                    .setName(GatedGraph.GATE_ATTRIBUTE)
                    .setType(AttributeProto.AttributeType.INT)
                    .setI(g));
    boolean follows = g == 1;
    for (String name : passing) {
      String before = current.getOrDefault(name, name);
      follows |= descended.contains(before);
      gate.addInput(before);
      String after = fresh(name + "@" + g);
      gate.addOutput(after);
      current.put(name, after);
    }
    if (!follows) {
      String along = descended.iterator().next();
      gate.addInput(along).addOutput(fresh(along + "@" + g));
    }
    descended = new LinkedHashSet<>(gate.getOutputList());
    return gate.build();
  }

  /** For each node of a segment that would not descend from its gate, one of the names it reads. */
  private Set<String> heldBack(Set<String> passing, int begin, int end) {
    Set<String> through = new LinkedHashSet<>();
    Set<String> behind = new HashSet<>(passing);
    for (NodeProto node : order.subList(begin, end)) {
      Set<String> reads = Scopes.reads(node);
      if (reads.stream().noneMatch(behind::contains)) {
        Stream.concat(
                reads.stream().filter(name -> crosses(name, begin)),
                reads.stream().filter(weights::contains))
            .findFirst()
            .ifPresent(through::add);
        behind.addAll(through);
      }
      if (reads.stream().anyMatch(behind::contains)) {
        behind.addAll(node.getOutputList());
        behind.remove("");
      }
    }
    return through;
  }

  private boolean crosses(String name, int position) {
    Liveness.Span span = liveness.spans().get(name);
    return span != null && span.crosses(position);
  }

  private String fresh(String wanted) {
    String name = wanted;
    for (int i = 1; !taken.add(name); i++) {
      name = wanted + "." + i;
    }
    return name;
  }
}
