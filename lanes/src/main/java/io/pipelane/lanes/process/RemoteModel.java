package io.pipelane.lanes.process;

import io.pipelane.lanes.process.channel.PlacedTensor;
import io.pipelane.lanes.process.channel.ProtocolException;
import io.pipelane.modelstore.Plan;
import io.pipelane.runtime.TensorSpec;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;

/** A model's inputs and outputs by the numbers that messages call them. */
final class RemoteModel {
  private final Plan plan;
  private final Map<String, Integer> inputs;
  private final Map<String, Integer> outputs;

  RemoteModel(Plan plan) {
    this.plan = plan;
    this.inputs = numbers(plan.inputs());
    this.outputs = numbers(plan.outputs());
  }

  private static Map<String, Integer> numbers(List<TensorSpec> specs) {
    Map<String, Integer> numbers = new HashMap<>();
    specs.forEach(spec -> numbers.put(spec.name(), numbers.size()));
    return numbers;
  }

  int segments() {
    return plan.segments().size();
  }

  int input(String name) {
    return Objects.requireNonNull(inputs.get(name), name);
  }

  int output(String name) {
    return Objects.requireNonNull(outputs.get(name), name);
  }

  /** Checks that a worker's output is the one wanted. */
  void requireOutput(PlacedTensor output, int wanted) {
    if (output.index() != wanted || output.type() != plan.outputs().get(wanted).type()) {
      throw new ProtocolException("its output is %s instead of %d".formatted(output, wanted));
    }
  }
}
