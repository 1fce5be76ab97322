package io.pipelane.loadgen.zoo.training;

import ai.onnx.proto.OnnxMl.TensorProto.DataType;
import io.pipelane.loadgen.zoo.graph.GraphBuilder;
import io.pipelane.loadgen.zoo.graph.Range;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.LongStream;

/**
 * A graph whose weights are learnt: what a layer reads is a weight's initial value plus what
 * training has changed of it, an input that is zero at first.
 */
final class TrainingGraph extends GraphBuilder {
  private final Map<String, Learnt> learnt = new LinkedHashMap<>();

  TrainingGraph(String name) {
    super(name);
  }

  /**
   * A weight that is learnt.
   *
   * @param name of its initial value
   * @param change the input that holds what training has changed
   * @param current what the layers read
   */
  record Learnt(String name, String change, String current, List<Integer> shape) {}

  @Override
  public String weight(String name, Range values, long... shape) {
    super.weight(name, values, shape);
    List<Integer> dimensions = LongStream.of(shape).mapToObj(Math::toIntExact).toList();
    String change = input(name + ".change", DataType.FLOAT, dimensions.toArray());
    String current = node("Add", name + ".current", List.of(name, change));
    learnt.put(name, new Learnt(name, change, current, dimensions));
    return current;
  }

  /** Nothing: what a network answers is no output of a step. */
  @Override
  public void output(String name, Object... dimensions) {}

  /** An output of the step. */
  void stepOutput(String name, Object... dimensions) {
    super.output(name, dimensions);
  }

  List<Learnt> learnt() {
    return List.copyOf(learnt.values());
  }
}
