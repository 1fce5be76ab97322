package io.pipelane.switcher.simulator;

import io.pipelane.modelstore.Plan;
import io.pipelane.switcher.grouping.PipelineModel;

/**
 * A model as a simulator knows it.
 *
 * @param plan says where its segments end; models of one structure take turns in its addresses
 * @param pipeline its segments' times, and the link's
 * @param supposed the same as the device has them in its profile, which its pages are kept by
 * @param transferNanos what a run loses by any transfer, however short
 * @param remapPageNanos what putting a page that stayed under its addresses takes, where another
 *     model of the structure was there
 * @param hiddenNanos of a run that has waited for its turn, what is hidden behind the one before
 *     it: its inputs have come, and neither device nor threads have to be woken up
 * @param spread of its runs
 */
public record SimulatedModel(
    String name,
    Plan plan,
    PipelineModel pipeline,
    PipelineModel supposed,
    long transferNanos,
    long remapPageNanos,
    long hiddenNanos,
    RunSpread spread) {

  /** One whose profile is right, and whose runs take the same time and have nothing hidden. */
  public SimulatedModel(
      String name, Plan plan, PipelineModel pipeline, long transferNanos, long remapPageNanos) {
    this(name, plan, pipeline, pipeline, transferNanos, remapPageNanos, 0, RunSpread.NONE);
  }

  /** Another model of the same structure. */
  public SimulatedModel named(String other) {
    return new SimulatedModel(
        other, plan, pipeline, supposed, transferNanos, remapPageNanos, hiddenNanos, spread);
  }
}
