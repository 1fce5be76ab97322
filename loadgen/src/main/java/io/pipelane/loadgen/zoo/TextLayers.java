package io.pipelane.loadgen.zoo;

import static io.pipelane.loadgen.zoo.graph.Attribute.integer;
import static io.pipelane.loadgen.zoo.graph.Attribute.integers;

import io.pipelane.loadgen.zoo.graph.Attribute;
import io.pipelane.loadgen.zoo.graph.GraphBuilder;
import io.pipelane.loadgen.zoo.graph.Range;
import java.util.List;

/**
 * The layers that transformers are made of, as PyTorch exports them to operator set 12: there ONNX
 * Runtime's attention fusion recognises them. It knows no later versions of some operators.
 *
 * <p>Tensors are [batch, sequence, hidden] unless a method says otherwise.
 */
final class TextLayers {
  static final int OPERATOR_SET = 12;
  static final String SEQUENCE = "sequence";

  private static final Range BIAS = Range.around(0, 0.1);
  private static final Range SCALE = Range.around(1, 0.1);

  private final GraphBuilder graph;
  private final int hidden;
  private final String headsShape;
  private final String hiddenShape;
  private final String headRoot;
  private final String two;
  private final String epsilon;

  /**
   * @param heads attention heads, a divisor of {@code hidden}
   * @param epsilon what normalisations add to the variance
   */
  TextLayers(GraphBuilder graph, int hidden, int heads, double epsilon) {
    this.graph = graph;
    this.hidden = hidden;
    int headSize = hidden / heads;
    headsShape = graph.integers("heads_shape", 0, 0, heads, headSize);
    hiddenShape = graph.integers("hidden_shape", 0, 0, hidden);
    headRoot = graph.real("head_root", Math.sqrt(headSize));
    two = graph.real("two", 2);
    this.epsilon = graph.real("epsilon", epsilon);
  }

  /** The sequence's length, as a vector of one, from a shape [batch, sequence]. */
  String length(String shape) {
    String one = graph.integer("sequence_axis", 1);
    String length = graph.node("Gather", "length", List.of(shape, one), integer("axis", 0));
    return graph.node("Unsqueeze", "lengths", List.of(length), integers("axes", 0));
  }

  /** One vector for each token, [batch, sequence, hidden]. */
  String embed(String name, String ids, int tokens) {
    String table = graph.weight(name + ".weight", Range.linear(hidden), tokens, hidden);
    return graph.node("Gather", name, List.of(table, ids), integer("axis", 0));
  }

  /** Adds to each token's vector that of its position. */
  String addPositions(String name, String output, String states, String length, int positions) {
    String table = graph.weight(name + ".weight", Range.linear(hidden), positions, hidden);
    String first = graph.integers(name + ".first", 0);
    String axis = graph.integers(name + ".axis", 0);
    String used = graph.node("Slice", name, List.of(table, first, length, axis));
    graph.shape(output, GraphBuilder.BATCH, SEQUENCE, hidden);
    return add(output, states, used);
  }

  String add(String name, String one, String other) {
    return graph.node("Add", name, List.of(one, other));
  }

  String multiply(String name, String one, String other) {
    return graph.node("Mul", name, List.of(one, other));
  }

  String linear(String name, String input, int inputs, int outputs) {
    String weight = graph.weight(name + ".weight", Range.linear(inputs), inputs, outputs);
    String bias = graph.weight(name + ".bias", BIAS, outputs);
    return add(name, graph.node("MatMul", name + ".product", List.of(input, weight)), bias);
  }

  /** Layer normalisation, spelled out as it was before ONNX had an operator for it. */
  String normalize(String name, String input) {
    return normalize(name, name, input);
  }

  /** The same with an output that is named otherwise than the layer. */
  String normalize(String name, String output, String input) {
    Attribute last = integers("axes", -1);
    String mean = graph.node("ReduceMean", name + ".mean", List.of(input), last);
    String centred = graph.node("Sub", name + ".centred", List.of(input, mean));
    String squares = graph.node("Pow", name + ".squares", List.of(centred, two));
    String variance = graph.node("ReduceMean", name + ".variance", List.of(squares), last);
    String shifted = add(name + ".shifted", variance, epsilon);
    String deviation = graph.node("Sqrt", name + ".deviation", List.of(shifted));
    String normal = graph.node("Div", name + ".normal", List.of(centred, deviation));
    String scaled =
        multiply(name + ".scaled", normal, graph.weight(name + ".weight", SCALE, hidden));
    return add(output, scaled, graph.weight(name + ".bias", BIAS, hidden));
  }

  /** What the queries, the keys and the values of all heads are called. */
  record Heads(String queries, String keys, String values) {}

  /** The heads of vectors that lie side by side, [batch, sequence, 3 × hidden]. */
  Heads jointHeads(String name, String joint) {
    List<String> parts =
        graph.node(
            "Split",
            List.of(name + ".query", name + ".key", name + ".value"),
            List.of(joint),
            integer("axis", 2),
            integers("split", hidden, hidden, hidden));
    return new Heads(
        heads(parts.get(0), parts.get(0)),
        keyHeads(parts.get(1), parts.get(1)),
        heads(parts.get(2), parts.get(2)));
  }

  /** Query or value heads, [batch, heads, sequence, head size]. */
  String heads(String name, String input) {
    return heads(name, input, integers("perm", 0, 2, 1, 3));
  }

  /** Key heads, [batch, heads, head size, sequence]. */
  String keyHeads(String name, String input) {
    return heads(name, input, integers("perm", 0, 2, 3, 1));
  }

  private String heads(String name, String input, Attribute order) {
    String split = graph.node("Reshape", name + ".split", List.of(input, headsShape));
    return graph.node("Transpose", name + ".heads", List.of(split), order);
  }

  /** How much each query asks for each key, [batch, heads, sequence, sequence]. */
  String scores(String name, String queries, String keys) {
    String products = graph.node("MatMul", name + ".products", List.of(queries, keys));
    return graph.node("Div", name + ".scores", List.of(products, headRoot));
  }

  /** The values that each query gets. */
  String attend(String name, String scores, String values) {
    String shares = graph.node("Softmax", name + ".shares", List.of(scores), integer("axis", 3));
    String heads = graph.node("MatMul", name + ".values", List.of(shares, values));
    String turned =
        graph.node("Transpose", name + ".turned", List.of(heads), integers("perm", 0, 2, 1, 3));
    return graph.node("Reshape", name + ".joined", List.of(turned, hiddenShape));
  }
}
