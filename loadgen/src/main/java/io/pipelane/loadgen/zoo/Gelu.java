package io.pipelane.loadgen.zoo;

import io.pipelane.loadgen.zoo.graph.GraphBuilder;
import java.util.List;

/**
 * An activation with its constants: Hendrycks and Gimpel, Gaussian Error Linear Units, section 2,
 * by the error function. As operators that ONNX Runtime fuses into one.
 */
final class Gelu {
  private final GraphBuilder graph;
  private final String one;
  private final String half;
  private final String rootOfTwo;

  Gelu(GraphBuilder graph) {
    this.graph = graph;
    one = graph.real("one", 1);
    half = graph.real("half", 0.5);
    rootOfTwo = graph.real("root_of_two", Math.sqrt(2));
  }

  /** The constant 1, which others may need too. */
  String one() {
    return one;
  }

  String apply(String name, String input) {
    String scaled = graph.node("Div", name + ".scaled", List.of(input, rootOfTwo));
    String error = graph.node("Erf", name + ".erf", List.of(scaled));
    String shifted = graph.node("Add", name + ".shifted", List.of(error, one));
    String product = graph.node("Mul", name + ".product", List.of(input, shifted));
    return graph.node("Mul", name + ".gelu", List.of(product, half));
  }
}
