package io.pipelane.lanes.process;

import io.pipelane.lanes.execution.InputTensor;
import io.pipelane.modelstore.Plan;
import io.pipelane.runtime.Shape;
import io.pipelane.runtime.TensorSpec;
import io.pipelane.runtime.graph.AssumedSizes;
import java.util.List;
import java.util.Optional;

/**
 * The longest computing time of a run that nobody has seen, by what import has put into the plan.
 */
final class PlannedTime {
  private PlannedTime() {}

  /**
   * What the segments take together; 0 where the plan does not say. Inputs that are larger than
   * those that import has estimated by count twice over, as attention does.
   */
  static long nanos(Plan plan, List<InputTensor> inputs) {
    if (plan.repeats()) { // Shapes do not tell how often.
      return 0;
    }
    double planned = plan.segments().stream().mapToDouble(Plan.Segment::estimatedNanos).sum();
    double larger = inputs.stream().mapToDouble(input -> larger(plan, input)).max().orElse(1);
    return (long) (planned * larger * larger); // Long.MAX_VALUE where it is more.
  }

  /** How many times an input is as large as it was taken to be, where its dimensions are open. */
  private static double larger(Plan plan, InputTensor input) {
    Optional<Shape> declared =
        plan.inputs().stream()
            .filter(spec -> spec.name().equals(input.name()))
            .map(TensorSpec::shape)
            .findFirst();
    double times = 1;
    int rank = declared.map(Shape::rank).orElse(0);
    for (int i = 0; i < rank; i++) {
      boolean isOpen = declared.orElseThrow().dimension(i) < 0;
      double estimated = AssumedSizes.USUAL.of(i, rank);
      times *= isOpen ? Math.max(1, input.shape().dimension(i) / estimated) : 1;
    }
    return times;
  }
}
