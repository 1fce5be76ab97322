package io.pipelane.lanes.process.worker;

import io.pipelane.lanes.EphemeralRegion;
import io.pipelane.lanes.cpu.execution.WorkerRegion;
import io.pipelane.lanes.execution.MemoryTarget;

/**
 * A lane of this process.
 *
 * @param region what runs allocate from
 * @param host where inputs and outputs lie; the same on the processor
 */
record WorkerLane(EphemeralRegion region, WorkerRegion host) {
  /** How room is made for outputs. */
  MemoryTarget.Growth hostGrowth(MemoryTarget.Growth growth) {
    return region.equals(host) ? growth : bytes -> false;
  }
}
