package io.pipelane.loadgen.zoo;

import static io.pipelane.loadgen.zoo.graph.Attribute.integer;
import static io.pipelane.loadgen.zoo.graph.Attribute.integers;

import ai.onnx.proto.OnnxMl.TensorProto.DataType;
import io.pipelane.loadgen.zoo.graph.Attribute;
import io.pipelane.loadgen.zoo.graph.GraphBuilder;
import java.util.List;

/**
 * BERT's base encoder: Devlin et al., BERT: Pre-training of Deep Bidirectional Transformers for
 * Language Understanding, section 3; without the pooler, and with all tokens in the first segment.
 */
final class Bert {
  private static final int LAYERS = 12;
  private static final int HIDDEN = 768;
  private static final int HEADS = 12;
  private static final int INTERMEDIATE = 3072;
  private static final int VOCABULARY = 30_522;
  private static final int POSITIONS = 512;
  private static final int SEGMENTS = 2;
  private static final double EPSILON = 1e-12;
  private static final double MASKED = -10_000;
  private static final String OUTPUT = "last_hidden_state";

  private final GraphBuilder graph;
  private final TextLayers layers;
  private final Gelu gelu;

  private Bert(GraphBuilder graph) {
    this.graph = graph;
    layers = new TextLayers(graph, HIDDEN, HEADS, EPSILON);
    gelu = new Gelu(graph);
  }

  static void build(GraphBuilder graph) {
    new Bert(graph).build();
  }

  private void build() {
    String ids = graph.input("input_ids", DataType.INT64, GraphBuilder.BATCH, TextLayers.SEQUENCE);
    String mask = mask();
    String states = embeddings(ids);
    for (int i = 0; i < LAYERS; i++) {
      String name = "encoder.layer." + i;
      states = attention(name + ".attention", states, mask);
      String output = i == LAYERS - 1 ? OUTPUT : name + ".output";
      states = feedForward(name, states, output);
    }
    graph.output(OUTPUT, GraphBuilder.BATCH, TextLayers.SEQUENCE, HIDDEN);
  }

  /** What is added to scores: 0, and a large negative number where the key is masked. */
  private String mask() {
    String mask =
        graph.input("attention_mask", DataType.INT64, GraphBuilder.BATCH, TextLayers.SEQUENCE);
    String rows = graph.node("Unsqueeze", "mask.rows", List.of(mask), integers("axes", 1));
    String heads = graph.node("Unsqueeze", "mask.heads", List.of(rows), integers("axes", 2));
    Attribute real = integer("to", DataType.FLOAT.getNumber());
    String present = graph.node("Cast", "mask.present", List.of(heads), real);
    String absent = graph.node("Sub", "mask.absent", List.of(gelu.one(), present));
    return layers.multiply("mask.added", absent, graph.real("masked", MASKED));
  }

  private String embeddings(String ids) {
    String words = layers.embed("embeddings.word_embeddings", ids, VOCABULARY);
    String first = graph.integer("segment", 0);
    String segment = layers.embed("embeddings.token_type_embeddings", first, SEGMENTS);
    String length = layers.length(graph.node("Shape", "shape", List.of(ids)));
    String typed = layers.add("embeddings.typed", words, segment);
    String placed =
        layers.addPositions(
            "embeddings.position_embeddings", "embeddings.placed", typed, length, POSITIONS);
    return layers.normalize("embeddings.LayerNorm", placed);
  }

  private String attention(String name, String states, String mask) {
    String self = name + ".self";
    String queries = layers.heads(self + ".query", project(self + ".query", states));
    String keys = layers.keyHeads(self + ".key", project(self + ".key", states));
    String values = layers.heads(self + ".value", project(self + ".value", states));
    String scores = layers.add(self + ".masked", layers.scores(self, queries, keys), mask);
    String context = layers.attend(self, scores, values);
    String output = project(name + ".output.dense", context);
    return layers.normalize(
        name + ".output.LayerNorm", layers.add(name + ".output.sum", output, states));
  }

  private String project(String name, String states) {
    return layers.linear(name, states, HIDDEN, HIDDEN);
  }

  private String feedForward(String name, String states, String output) {
    String wide = layers.linear(name + ".intermediate.dense", states, HIDDEN, INTERMEDIATE);
    String narrow =
        layers.linear(
            name + ".output.dense", gelu.apply(name + ".intermediate", wide), INTERMEDIATE, HIDDEN);
    return layers.normalize(
        name + ".output.LayerNorm", output, layers.add(name + ".output.sum", narrow, states));
  }
}
