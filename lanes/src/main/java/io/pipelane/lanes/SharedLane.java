package io.pipelane.lanes;

import io.pipelane.lanes.cpu.SharedRegion;

/** A lane whose runs happen in worker processes. */
public interface SharedLane extends EphemeralRegion {
  /** Host memory that workers map too, which inputs and outputs lie in; perhaps the lane itself. */
  SharedRegion host();

  /** Discards what runs of another owner have left; belongs to the lane's thread. */
  void cleanFor(String runOwner);

  /** Notes how far a worker's allocations have reached. */
  void reached(long end);
}
