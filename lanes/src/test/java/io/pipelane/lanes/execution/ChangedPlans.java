package io.pipelane.lanes.execution;

import io.pipelane.modelstore.Batching;
import io.pipelane.modelstore.Plan;
import io.pipelane.runtime.RepackedWeight;
import io.pipelane.runtime.TensorSpec;
import java.util.List;

/** Plans that say one thing otherwise than the plan that they were made from. */
public final class ChangedPlans {
  private ChangedPlans() {}

  /** A plan with other outputs. */
  public static Plan withOutputs(Plan plan, List<TensorSpec> outputs) {
    return changed(plan, outputs, plan.repacked(), plan.segments(), plan.batching());
  }

  /** A plan whose weights were repacked otherwise. */
  public static Plan withRepacked(Plan plan, List<RepackedWeight> repacked) {
    return changed(plan, plan.outputs(), repacked, plan.segments(), plan.batching());
  }

  /** A plan whose import has found something else of requests that run together. */
  public static Plan withBatching(Plan plan, Batching batching) {
    return changed(plan, plan.outputs(), plan.repacked(), plan.segments(), batching);
  }

  /** A plan whose segments are expected to take so long each. */
  public static Plan withEstimates(Plan plan, long nanos) {
    List<Plan.Segment> estimated =
        plan.segments().stream()
            .map(old -> new Plan.Segment(old.offset(), old.byteSize(), old.layers(), nanos))
            .toList();
    return changed(plan, plan.outputs(), plan.repacked(), estimated, plan.batching());
  }

  private static Plan changed(
      Plan plan,
      List<TensorSpec> outputs,
      List<RepackedWeight> repacked,
      List<Plan.Segment> segments,
      Batching batching) {
    return new Plan(
        plan.structureHash(),
        plan.inputs(),
        outputs,
        plan.weights(),
        repacked,
        plan.inPlace(),
        segments,
        plan.weightBytes(),
        plan.weightChecksum(),
        plan.constantBytes(),
        plan.batchPadding(),
        batching,
        plan.channelsLast(),
        plan.broughtToHost(),
        plan.repeats(),
        plan.notes());
  }
}
