package io.pipelane.loadgen.zoo;

import static io.pipelane.loadgen.zoo.graph.Attribute.integer;

import ai.onnx.proto.OnnxMl.TensorProto.DataType;
import io.pipelane.loadgen.zoo.graph.GraphBuilder;
import io.pipelane.loadgen.zoo.graph.Range;
import java.util.List;

/**
 * Two layers of long short-term memory that score each next word: Zaremba et al., Recurrent Neural
 * Network Regularization, section 4.1, in the sizes of TensorFlow's tutorial; from an empty memory,
 * without dropout. It is what Salus (table 2) calls seq2seq.
 */
final class WordModel {
  private static final int VOCABULARY = 10_000;
  private static final int LAYERS = 2;
  private static final Range EMBEDDING = Range.around(0, 1);

  private WordModel() {}

  static void build(GraphBuilder graph, int hidden) {
    RecurrentLayers layers = new RecurrentLayers(graph);
    String ids = graph.input("input_ids", DataType.INT64, GraphBuilder.BATCH, TextLayers.SEQUENCE);
    String table = graph.weight("embedding.weight", EMBEDDING, VOCABULARY, hidden);
    String words = graph.node("Gather", "embedding", List.of(table, ids), integer("axis", 0));
    String states = layers.swap("words", words);
    for (int i = 0; i < LAYERS; i++) {
      states = layers.memory("lstm." + i, states, hidden, hidden);
    }
    states = layers.swap("states", states);
    layers.linear("softmax", "logits", states, hidden, VOCABULARY);
    graph.output("logits", GraphBuilder.BATCH, TextLayers.SEQUENCE, VOCABULARY);
  }
}
