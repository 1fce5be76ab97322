package io.pipelane.loadgen.zoo.training;

import static io.pipelane.loadgen.zoo.graph.Attribute.integer;
import static io.pipelane.loadgen.zoo.graph.Attribute.integers;

import ai.onnx.proto.OnnxMl.TensorProto.DataType;
import io.pipelane.loadgen.zoo.graph.Architecture;
import io.pipelane.loadgen.zoo.graph.GraphBuilder;
import java.util.List;

/** The losses that training makes smaller, as tensors [1]: the mean over a batch. */
public final class Losses {
  private Losses() {}

  /**
   * A classifier that ends in the cross entropy of its scores, against the class that input {@code
   * label} [batch] names of each image.
   */
  public static Architecture crossEntropy(Architecture classifier, int classes) {
    return graph -> {
      classifier.build(graph);
      String label = graph.input("label", DataType.INT64, GraphBuilder.BATCH);
      String chances = graph.node("LogSoftmax", "chances", List.of("output"), integer("axis", 1));
      String size = graph.integer("classes", classes);
      String values = graph.reals("unmarked and marked", 0, 1);
      String marked =
          graph.node("OneHot", "marked", List.of(label, size, values), integer("axis", 1));
      graph.shape(marked, GraphBuilder.BATCH, classes);
      String chosen = graph.node("Mul", "chosen", List.of(chances, marked));
      mean(graph, graph.node("Neg", "surprise", List.of(chosen)));
    };
  }

  /** Adds up each row of a tensor [batch, n], and makes the mean of all rows the loss. */
  public static void mean(GraphBuilder graph, String values) {
    String rows =
        graph.node(
            "ReduceSum",
            TrainingStep.LOSS + ".rows",
            List.of(values, graph.integers(TrainingStep.LOSS + ".axis", 1)),
            integer("keepdims", 0));
    graph.node(
        "ReduceMean",
        TrainingStep.LOSS,
        List.of(rows),
        integers("axes", 0),
        integer("keepdims", 1));
  }
}
