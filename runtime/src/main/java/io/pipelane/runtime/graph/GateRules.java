package io.pipelane.runtime.graph;

import ai.onnx.proto.OnnxMl.AttributeProto;
import ai.onnx.proto.OnnxMl.GraphProto;
import ai.onnx.proto.OnnxMl.NodeProto;
import ai.onnx.proto.OnnxMl.ValueInfoProto;
import io.pipelane.runtime.TensorType;
import io.pipelane.runtime.graph.GatedGraph.Segment;
import io.pipelane.runtime.graph.GatedGraph.Weight;
import io.pipelane.runtime.graph.content.Scopes;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * The proof that a cut graph may be executed while its weights are still arriving: it derives from
 * the finished graph alone which gates each node waits for.
 */
public final class GateRules {
  /*
   * depth(name) is the highest gate that a value descends from. Gate g must itself descend from
   * gate g - 1, so a value that descends from gate g descends from every gate up to g. One number
   * per value is enough.
   *
   * A weight keeps its identity through gates: they pass it on, they do not read it. A weight that
   * is read in place is there from the beginning, so it waits for nothing. What it must not have is
   * a reader that wants more of it than rows.
   */
  private final GatedGraph gated;
  private final Map<String, Integer> depth = new HashMap<>();
  private final Map<String, Weight> weightBehind = new HashMap<>();
  private final Set<String> inPlace = new HashSet<>();

  private GateRules(GatedGraph gated) {
    this.gated = gated;
  }

  /**
   * Checks every rule.
   *
   * @throws IllegalStateException naming the node or weight that breaks one
   */
  public static void check(GatedGraph gated) {
    GateRules rules = new GateRules(gated);
    rules.checkLayout();
    rules.checkDeclarations();
    rules.checkOrder();
  }

  /** Weights are aligned, follow each other in the order of segments, and fill their segments. */
  private void checkLayout() {
    long offset = 0;
    int segment = 0;
    for (Weight weight : gated.weights()) {
      require(weight.offset() == offset, weight.name(), "does not begin at byte " + offset);
      require(weight.segment() >= segment, weight.name(), "lies after a later segment's weight");
      Segment owner = gated.segments().get(weight.segment());
      offset = GatedGraph.align(weight.offset() + weight.byteSize());
      segment = weight.segment();
      require(
          weight.offset() >= owner.offset() && offset <= owner.offset() + owner.byteSize(),
          weight.name(),
          "lies outside its segment");
    }
    require(gated.weightBytes() == offset, "weights file", "does not end at byte " + offset);
    long end = 0;
    for (Segment stretch : gated.segments()) {
      require(stretch.offset() == end, "segment at " + stretch.offset(), "leaves a hole");
      end += stretch.byteSize();
    }
    require(end == offset, "last segment", "does not end with the weights file");
    long free = 0;
    for (InPlaceWeight weight : gated.inPlace()) {
      require(weight.offset() == free, weight.name(), "does not lie in place at byte " + free);
      free = GatedGraph.align(weight.end());
    }
  }

  /**
   * Weights are the last inputs of the graph, in order, those read in place behind the others, and
   * nothing else in it.
   */
  private void checkDeclarations() {
    GraphProto graph = gated.model().getGraph();
    Set<String> constants = Scopes.constants(graph);
    Set<String> outputs = new HashSet<>();
    graph.getOutputList().forEach(output -> outputs.add(output.getName()));
    List<ValueInfoProto> inputs = graph.getInputList();
    int weights = gated.weights().size() + gated.inPlace().size();
    int next = inputs.size() - weights;
    require(next >= 0, "graph", "has fewer inputs than weights");
    for (Weight weight : gated.weights()) {
      checkInput(inputs.get(next), next, weight.name(), weight.type());
      weightBehind.put(weight.name(), weight);
      next++;
    }
    for (InPlaceWeight weight : gated.inPlace()) {
      checkInput(inputs.get(next), next, weight.name(), weight.type());
      inPlace.add(weight.name());
      next++;
    }
    for (ValueInfoProto input : inputs.subList(inputs.size() - weights, inputs.size())) {
      String name = input.getName();
      require(!constants.contains(name), name, "is still a constant");
      require(!outputs.contains(name), name, "is an output of the graph");
    }
    inputs.forEach(input -> depth.put(input.getName(), 0));
    constants.forEach(name -> depth.put(name, 0));
  }

  private static void checkInput(ValueInfoProto input, int number, String name, TensorType type) {
    require(input.getName().equals(name), name, "is not input " + number);
    int declared = input.getType().getTensorType().getElemType();
    require(declared == type.onnx(), name, "is declared with another type");
  }

  private void checkOrder() {
    Set<String> outputs = new HashSet<>();
    gated.model().getGraph().getOutputList().forEach(output -> outputs.add(output.getName()));
    int gates = 0;
    for (NodeProto node : gated.model().getGraph().getNodeList()) {
      if (node.getDomain().equals(GatedGraph.GATE_DOMAIN)) {
        checkGate(node, ++gates);
        checkAliasing(node, outputs);
      } else {
        checkReader(node);
      }
    }
    require(gates == gated.segments().size() - 1, "graph", "has " + gates + " gates");
    for (ValueInfoProto output : gated.model().getGraph().getOutputList()) {
      require(depth.containsKey(output.getName()), output.getName(), "is produced by nothing");
    }
  }

  private void checkGate(NodeProto gate, int number) {
    String name = gate.getName();
    require(number(gate) == number, name, "is not gate " + number + ", which is due here");
    require(gate.getInputCount() > 0, name, "passes nothing");
    require(gate.getInputCount() == gate.getOutputCount(), name, "loses or invents values");
    require(deepest(gate) == number - 1, name, "does not follow gate " + (number - 1));
    for (int i = 0; i < gate.getInputCount(); i++) {
      require(!inPlace.contains(gate.getInput(i)), name, "passes " + gate.getInput(i));
      define(gate, gate.getOutput(i), number);
      @Nullable Weight weight = weightBehind.get(gate.getInput(i));
      if (weight != null) {
        weightBehind.put(gate.getOutput(i), weight);
      }
    }
  }

  /** ONNX Runtime gives an output of the graph memory of its own, so a gate would have to copy. */
  private static void checkAliasing(NodeProto gate, Set<String> outputs) {
    for (String name : gate.getOutputList()) {
      require(!outputs.contains(name), gate.getName(), "produces \"" + name + "\", an output");
    }
  }

  private void checkReader(NodeProto node) {
    int deepest = deepest(node);
    for (String read : Scopes.reads(node)) {
      @Nullable Weight weight = weightBehind.get(read);
      if (weight != null) {
        require(
            deepest >= weight.segment(),
            node.getName() + " (" + node.getOpType() + ")",
            "reads weight %s without waiting for gate %d"
                .formatted(weight.name(), weight.segment()));
      }
    }
    for (String implicit : Scopes.implicitReads(node)) {
      checkInPlace(node, implicit, false);
    }
    for (int i = 0; i < node.getInputCount(); i++) {
      checkInPlace(node, node.getInput(i), RowReads.isByRows(node, i));
    }
    for (String output : node.getOutputList()) {
      if (!output.isEmpty()) {
        define(node, output, deepest);
      }
    }
  }

  private void checkInPlace(NodeProto node, String read, boolean byRows) {
    require(byRows || !inPlace.contains(read), node.getName(), "reads all of " + read);
  }

  private int deepest(NodeProto node) {
    int deepest = 0;
    for (String read : Scopes.reads(node)) {
      @Nullable Integer known = depth.get(read);
      require(known != null, node.getName(), "reads \"" + read + "\" before it is produced");
      deepest = Math.max(deepest, known == null ? 0 : known);
    }
    return deepest;
  }

  private void define(NodeProto node, String output, int gate) {
    require(depth.put(output, gate) == null, node.getName(), "produces \"" + output + "\" again");
  }

  private static long number(NodeProto gate) {
    return gate.getAttributeList().stream()
        .filter(attribute -> attribute.getName().equals(GatedGraph.GATE_ATTRIBUTE))
        .mapToLong(AttributeProto::getI)
        .findFirst()
        .orElse(-1);
  }

  private static void require(boolean holds, String who, String what) {
    if (!holds) {
      throw new IllegalStateException("gate rules: " + who + " " + what);
    }
  }
}
