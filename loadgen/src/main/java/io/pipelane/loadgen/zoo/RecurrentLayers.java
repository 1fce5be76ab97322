package io.pipelane.loadgen.zoo;

import static io.pipelane.loadgen.zoo.graph.Attribute.integer;
import static io.pipelane.loadgen.zoo.graph.Attribute.integers;
import static io.pipelane.loadgen.zoo.graph.Attribute.real;
import static io.pipelane.loadgen.zoo.graph.Attribute.text;
import static io.pipelane.loadgen.zoo.graph.Attribute.texts;

import io.pipelane.loadgen.zoo.graph.GraphBuilder;
import io.pipelane.loadgen.zoo.graph.Range;
import java.util.List;

/**
 * The layers that recurrent networks are made of, over tensors [time, batch, features]. A recurrent
 * layer has two vectors of biases, for its input and for its state, as cuDNN, PyTorch and ONNX have
 * them.
 */
final class RecurrentLayers {
  private static final Range BIAS = Range.around(0, 0.1);
  private static final long GATES = 4;

  private final GraphBuilder graph;
  private final String directionAxis;

  RecurrentLayers(GraphBuilder graph) {
    this.graph = graph;
    directionAxis = graph.integers("direction_axis", 1);
  }

  /** [batch, time, features] the other way round, or back. */
  String swap(String name, String input) {
    return graph.node("Transpose", name, List.of(input), integers("perm", 1, 0, 2));
  }

  String linear(String name, String output, String input, int inputs, int outputs) {
    String weight = graph.weight(name + ".weight", Range.linear(inputs), inputs, outputs);
    String product = graph.node("MatMul", name + ".product", List.of(input, weight));
    return graph.node("Add", output, List.of(product, graph.weight(name + ".bias", BIAS, outputs)));
  }

  /** Long short-term memory: Hochreiter and Schmidhuber 1997, with gates that may forget. */
  String memory(String name, String input, int inputs, int units) {
    String all =
        graph.node(
            "LSTM",
            name + ".directions",
            List.of(
                input,
                graph.weight(name + ".input", Range.linear(inputs), 1, GATES * units, inputs),
                graph.weight(name + ".state", Range.linear(units), 1, GATES * units, units),
                graph.weight(name + ".bias", BIAS, 1, 2 * GATES * units)),
            integer("hidden_size", units));
    return graph.node("Squeeze", name, List.of(all, directionAxis));
  }

  /**
   * Two plain recurrent layers with rectifiers, one forwards and one backwards in time, added up.
   *
   * @param clip what no value exceeds
   */
  String bothWays(String name, String input, int inputs, int units, double clip) {
    Range values = Range.linear(inputs + units);
    String all =
        graph.node(
            "RNN",
            name + ".directions",
            List.of(
                input,
                graph.weight(name + ".input", values, 2, units, inputs),
                graph.weight(name + ".state", values, 2, units, units),
                graph.weight(name + ".bias", BIAS, 2, 2L * units)),
            integer("hidden_size", units),
            text("direction", "bidirectional"),
            texts("activations", "Relu", "Relu"),
            real("clip", clip));
    return graph.node("ReduceSum", name, List.of(all, directionAxis), integer("keepdims", 0));
  }
}
