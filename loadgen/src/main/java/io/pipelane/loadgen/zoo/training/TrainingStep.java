package io.pipelane.loadgen.zoo.training;

import io.pipelane.loadgen.zoo.graph.Architecture;
import io.pipelane.loadgen.zoo.graph.ZooGraph;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * A step of stochastic gradient descent as a plain graph: forwards to the loss, backwards to the
 * gradients, and to what the weights have changed by after it. That is the state from one step to
 * the next; it is zero at first, so training begins with the initial weights.
 */
public final class TrainingStep {
  /** The tensor in which a network that is to be trained ends: one number, the batch's mean. */
  public static final String LOSS = "loss";

  private TrainingStep() {}

  /**
   * Builds the step.
   *
   * @param network ends in a tensor [1] named {@link #LOSS}
   * @param rate what gradients are multiplied by
   */
  public static ZooGraph build(String name, int operatorSet, Architecture network, double rate) {
    TrainingGraph graph = new TrainingGraph(name);
    network.build(graph);
    graph.stepOutput(LOSS, 1);
    List<TrainingGraph.Learnt> learnt = graph.learnt();
    Map<String, String> gradients =
        Gradients.of(graph, LOSS, learnt.stream().map(TrainingGraph.Learnt::current).toList());
    String factor = graph.real("rate", rate);
    Map<String, String> state = new LinkedHashMap<>();
    for (TrainingGraph.Learnt weight : learnt) {
      String gradient = gradients.get(weight.current());
      if (gradient == null) {
        throw new IllegalStateException(name + ": the loss does not depend on " + weight.name());
      }
      String step = graph.node("Mul", weight.name() + ".step", List.of(gradient, factor));
      String next = weight.name() + ".next";
      graph.node("Sub", next, List.of(weight.change(), step));
      graph.stepOutput(next, weight.shape().toArray());
      state.put(next, weight.change());
    }
    ZooGraph built = graph.build(operatorSet);
    return new ZooGraph(built.operatorSet(), built.graph(), built.weights(), state);
  }
}
