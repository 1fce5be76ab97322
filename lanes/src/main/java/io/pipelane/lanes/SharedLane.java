package io.pipelane.lanes;

/** A lane whose runs happen in worker processes. */
public interface SharedLane extends EphemeralRegion {
  /** Where inputs and outputs lie; perhaps the lane itself. */
  HostRegion host();

  /** Notes how far a worker's allocations have reached. */
  void reached(long end);
}
