package io.pipelane.lanes.cuda.execution;

import io.pipelane.lanes.execution.Invocation;
import io.pipelane.lanes.execution.MemoryTarget;
import io.pipelane.lanes.execution.WeightArrivals;

/** One way to run a model in its lane; it returns when the outputs are placed. */
interface RunForm {
  /**
   * Runs once, on the lane's thread.
   *
   * @param times of runs with the same shapes in the same form
   */
  void run(
      Invocation invocation, MemoryTarget.Growth growth, WeightArrivals weights, RunTimes times);
}
