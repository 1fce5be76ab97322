package io.pipelane.loadgen.zoo;

import ai.onnx.proto.OnnxMl.TensorProto.DataType;
import io.pipelane.loadgen.zoo.graph.GraphBuilder;
import java.util.List;

/**
 * Scores of phonemes for each frame of speech: Hannun et al., Deep Speech, section 2, in the sizes
 * of Fathom (Adolf et al. 2016), with which Salus measured: 26 coefficients a frame, 61 phonemes
 * and a blank. Each direction has weights of its own, and their sum is what is scored.
 */
final class DeepSpeech {
  private static final int COEFFICIENTS = 26;
  private static final int HIDDEN = 1024;
  private static final int LABELS = 62;
  private static final double CLIP = 20;
  private static final int DENSE_LAYERS = 3;
  private static final String FRAMES = "frames";

  private DeepSpeech() {}

  static void build(GraphBuilder graph) {
    RecurrentLayers layers = new RecurrentLayers(graph);
    String low = graph.real("low", 0);
    String high = graph.real("high", CLIP);
    String input = graph.input("input", DataType.FLOAT, GraphBuilder.BATCH, FRAMES, COEFFICIENTS);
    String states = layers.swap("frames_first", input);
    int width = COEFFICIENTS;
    for (int i = 0; i < DENSE_LAYERS; i++) {
      String name = "dense." + i;
      String sums = layers.linear(name, name + ".sum", states, width, HIDDEN);
      states = graph.node("Clip", name, List.of(sums, low, high));
      width = HIDDEN;
    }
    states = layers.bothWays("recurrent", states, HIDDEN, HIDDEN, CLIP);
    String scores = layers.linear("labels", "labels", states, HIDDEN, LABELS);
    layers.swap("output", scores);
    graph.output("output", GraphBuilder.BATCH, FRAMES, LABELS);
  }
}
