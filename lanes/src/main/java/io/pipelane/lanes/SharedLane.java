package io.pipelane.lanes;

import io.pipelane.lanes.cpu.SharedRegion;
import java.util.function.BooleanSupplier;

/** A lane whose runs happen in worker processes. */
public interface SharedLane extends EphemeralRegion {
  /** Stands for all workers that belong to nobody, which map the same memory. */
  long EVERY_WORKER = 0;

  /** Host memory that workers map too, which inputs and outputs lie in; perhaps the lane itself. */
  SharedRegion host();

  /**
   * Gives a worker the lane for its next runs, with host memory that it alone maps, always the
   * same: nothing of another one's runs is there. Belongs to the lane's thread, between two runs.
   *
   * @param worker its number, or {@link #EVERY_WORKER}
   * @param isGone whether its process is gone, so that nothing maps the memory any more
   */
  void handTo(long worker, BooleanSupplier isGone);

  /** Notes how far a worker's allocations have reached. */
  void reached(long end);
}
