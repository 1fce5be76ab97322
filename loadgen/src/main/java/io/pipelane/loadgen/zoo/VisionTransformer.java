package io.pipelane.loadgen.zoo;

import static io.pipelane.loadgen.zoo.graph.Attribute.integer;
import static io.pipelane.loadgen.zoo.graph.Attribute.integers;

import io.pipelane.loadgen.zoo.ImageLayers.Features;
import io.pipelane.loadgen.zoo.ImageLayers.Kernel;
import io.pipelane.loadgen.zoo.TextLayers.Heads;
import io.pipelane.loadgen.zoo.graph.GraphBuilder;
import io.pipelane.loadgen.zoo.graph.Range;
import java.util.List;

/**
 * An encoder over squares of an image: Dosovitskiy et al., An Image is Worth 16x16 Words, table 1,
 * the base model with squares of 16 pixels, as torchvision has it.
 */
final class VisionTransformer {
  private static final int IMAGE = 224;
  private static final int SQUARE = 16;
  private static final int SQUARES = (IMAGE / SQUARE) * (IMAGE / SQUARE);
  private static final int LAYERS = 12;
  private static final int HIDDEN = 768;
  private static final int HEADS = 12;
  private static final int INTERMEDIATE = 3072;
  private static final double EPSILON = 1e-6;

  private final GraphBuilder graph;
  private final ImageLayers images;
  private final TextLayers layers;
  private final Gelu gelu;

  private VisionTransformer(GraphBuilder graph) {
    this.graph = graph;
    images = new ImageLayers(graph, EPSILON);
    layers = new TextLayers(graph, HIDDEN, HEADS, EPSILON);
    gelu = new Gelu(graph);
  }

  static void build(GraphBuilder graph) {
    new VisionTransformer(graph).build();
  }

  private void build() {
    String states = embeddings(images.image(IMAGE));
    for (int i = 0; i < LAYERS; i++) {
      String name = "encoder.layers.encoder_layer_" + i;
      states = attention(name, states);
      states = feedForward(name, states);
    }
    states = layers.normalize("encoder.ln", states);
    String first = graph.integer("class_position", 0);
    String vector = graph.node("Gather", "class", List.of(states, first), integer("axis", 1));
    images.classify("heads.head", vector, HIDDEN);
  }

  /** The class's vector and one for each square, with their positions. */
  private String embeddings(Features image) {
    Features squares =
        images.biasedConvolution("conv_proj", image, HIDDEN, Kernel.square(SQUARE, SQUARE, 0));
    String flat = graph.integers("squares_shape", 0, HIDDEN, SQUARES);
    String columns = graph.node("Reshape", "squares.flat", List.of(squares.name(), flat));
    String rows = graph.node("Transpose", "squares", List.of(columns), integers("perm", 0, 2, 1));
    String token = graph.weight("class_token", Range.linear(HIDDEN), 1, 1, HIDDEN);
    String tokens = graph.node("Expand", "class_tokens", List.of(token, tokensShape(image)));
    String joined =
        graph.node("Concat", "embeddings.joined", List.of(tokens, rows), integer("axis", 1));
    String positions =
        graph.weight("encoder.pos_embedding", Range.linear(HIDDEN), 1, SQUARES + 1L, HIDDEN);
    return layers.add("embeddings", joined, positions);
  }

  /** The batch, 1 and the hidden size. */
  private String tokensShape(Features image) {
    String shape = graph.node("Shape", "shape", List.of(image.name()));
    String axis = graph.integers("batch_axis", 0);
    String batch = graph.node("Gather", "batch_size", List.of(shape, axis), integer("axis", 0));
    String rest = graph.integers("token_shape", 1, HIDDEN);
    return graph.node("Concat", "class_tokens_shape", List.of(batch, rest), integer("axis", 0));
  }

  private String attention(String name, String states) {
    String normal = layers.normalize(name + ".ln_1", states);
    String self = name + ".self_attention";
    String joint = layers.linear(self + ".in_proj", normal, HIDDEN, 3 * HIDDEN);
    Heads heads = layers.jointHeads(self, joint);
    String scores = layers.scores(self, heads.queries(), heads.keys());
    String context = layers.attend(self, scores, heads.values());
    String output = layers.linear(self + ".out_proj", context, HIDDEN, HIDDEN);
    return layers.add(self + ".sum", output, states);
  }

  private String feedForward(String name, String states) {
    String normal = layers.normalize(name + ".ln_2", states);
    String wide = layers.linear(name + ".mlp.0", normal, HIDDEN, INTERMEDIATE);
    String output =
        layers.linear(name + ".mlp.3", gelu.apply(name + ".mlp", wide), INTERMEDIATE, HIDDEN);
    return layers.add(name + ".mlp.sum", output, states);
  }
}
