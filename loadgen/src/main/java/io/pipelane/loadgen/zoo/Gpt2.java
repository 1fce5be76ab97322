package io.pipelane.loadgen.zoo;

import static io.pipelane.loadgen.zoo.graph.Attribute.integer;

import ai.onnx.proto.OnnxMl.TensorProto.DataType;
import io.pipelane.loadgen.zoo.TextLayers.Heads;
import io.pipelane.loadgen.zoo.graph.GraphBuilder;
import java.util.List;

/**
 * GPT-2's smallest size, one forward pass from tokens to the scores of each next token: Radford et
 * al., Language Models are Unsupervised Multitask Learners, section 2.3.
 */
final class Gpt2 {
  private static final int LAYERS = 12;
  private static final int HIDDEN = 768;
  private static final int HEADS = 12;
  private static final int INTERMEDIATE = 4 * HIDDEN;
  private static final int VOCABULARY = 50_257;
  private static final int POSITIONS = 1024;
  private static final String OUTPUT = "logits";
  private static final double EPSILON = 1e-5;

  private final GraphBuilder graph;
  private final TextLayers layers;
  private final String one;
  private final String half;
  private final String three;
  private final String cubeShare;
  private final String tanhScale;
  private final String masked;

  private Gpt2(GraphBuilder graph) {
    this.graph = graph;
    layers = new TextLayers(graph, HIDDEN, HEADS, EPSILON);
    one = graph.real("one", 1);
    half = graph.real("half", 0.5);
    three = graph.real("three", 3);
    cubeShare = graph.real("cube_share", 0.044715);
    tanhScale = graph.real("tanh_scale", Math.sqrt(2 / Math.PI));
    masked = graph.real("masked", -Float.MAX_VALUE);
  }

  static void build(GraphBuilder graph) {
    new Gpt2(graph).build();
  }

  private void build() {
    String ids = graph.input("input_ids", DataType.INT64, GraphBuilder.BATCH, TextLayers.SEQUENCE);
    String shape = graph.node("Shape", "shape", List.of(ids));
    String length = layers.length(shape);
    String mask = mask(length);
    String words = layers.embed("wte", ids, VOCABULARY);
    String states = layers.addPositions("wpe", "embeddings", words, length, POSITIONS);
    for (int i = 0; i < LAYERS; i++) {
      String name = "h." + i;
      states = attention(name, states, mask);
      states = feedForward(name, states);
    }
    scores(layers.normalize("ln_f", states), shape);
  }

  /** Which keys each query may see: those up to its own position. */
  private String mask(String length) {
    byte[] visible = new byte[POSITIONS * POSITIONS];
    for (int query = 0; query < POSITIONS; query++) {
      for (int key = 0; key <= query; key++) {
        visible[query * POSITIONS + key] = 1;
      }
    }
    String all = graph.constant("mask.all", DataType.BOOL, visible, 1, 1, POSITIONS, POSITIONS);
    List<String> ends = List.of(length, length);
    String end = graph.node("Concat", "mask.end", ends, integer("axis", 0));
    String start = graph.integers("mask.start", 0, 0);
    return graph.node("Slice", "mask", List.of(all, start, end, graph.integers("mask.axes", 2, 3)));
  }

  private String attention(String name, String states, String mask) {
    String normal = layers.normalize(name + ".ln_1", states);
    String attention = name + ".attn";
    String joint = layers.linear(attention + ".c_attn", normal, HIDDEN, 3 * HIDDEN);
    Heads heads = layers.jointHeads(attention, joint);
    String scores = layers.scores(attention, heads.queries(), heads.keys());
    List<String> choice = List.of(mask, scores, masked);
    String causal = graph.node("Where", attention + ".causal", choice);
    String context = layers.attend(attention, causal, heads.values());
    String output = layers.linear(attention + ".c_proj", context, HIDDEN, HIDDEN);
    return layers.add(attention + ".sum", output, states);
  }

  private String feedForward(String name, String states) {
    String normal = layers.normalize(name + ".ln_2", states);
    String wide = layers.linear(name + ".mlp.c_fc", normal, HIDDEN, INTERMEDIATE);
    String output =
        layers.linear(name + ".mlp.c_proj", gelu(name + ".mlp", wide), INTERMEDIATE, HIDDEN);
    return layers.add(name + ".mlp.sum", output, states);
  }

  /** Hendrycks and Gimpel, Gaussian Error Linear Units, section 2: the approximation by tanh. */
  private String gelu(String name, String input) {
    String halved = layers.multiply(name + ".halved", input, half);
    String cube = graph.node("Pow", name + ".cube", List.of(input, three));
    String share = layers.multiply(name + ".share", cube, cubeShare);
    String scaled =
        layers.multiply(name + ".scaled", layers.add(name + ".inner", input, share), tanhScale);
    String tanh = graph.node("Tanh", name + ".tanh", List.of(scaled));
    return layers.multiply(name + ".gelu", halved, layers.add(name + ".shifted", tanh, one));
  }

  /** Each token's score: the product with its embedding. A Gemm reads the table as it lies. */
  private void scores(String states, String shape) {
    String rows = graph.integers("rows", -1, HIDDEN);
    String vectors = graph.node("Reshape", "lm_head.rows", List.of(states, rows));
    String scores =
        graph.node("Gemm", "lm_head", List.of(vectors, "wte.weight"), integer("transB", 1));
    String vocabulary = graph.integers("vocabulary", VOCABULARY);
    List<String> dimensions = List.of(shape, vocabulary);
    String logitsShape = graph.node("Concat", "logits_shape", dimensions, integer("axis", 0));
    graph.node("Reshape", OUTPUT, List.of(scores, logitsShape));
    graph.output(OUTPUT, GraphBuilder.BATCH, TextLayers.SEQUENCE, VOCABULARY);
  }
}
