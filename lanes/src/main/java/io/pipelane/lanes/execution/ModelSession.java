package io.pipelane.lanes.execution;

import io.pipelane.lanes.EphemeralRegion;
import java.util.List;

/** A session whose weights lie in an address range of the device. */
public interface ModelSession extends AutoCloseable {
  /**
   * Runs once, on the calling platform thread, and returns when the outputs are placed.
   *
   * @param region the lane's memory: everything that the run takes comes from it, and all of it is
   *     free again at the end
   * @param weights what the run waits for before it computes with them
   * @throws OutOfDeviceMemoryException when the region has no room; nothing has been placed then
   * @throws WorkerLostException when the process that runs it is lost
   * @throws io.pipelane.config.StatusException when the run fails, or its weights do not arrive
   */
  void run(
      Invocation invocation,
      EphemeralRegion region,
      MemoryTarget.Growth growth,
      WeightArrivals weights);

  /**
   * Device memory that libraries hold for the session, beside what it was charged with; it may
   * change with a run.
   */
  default long frameworkBytes() {
    return 0;
  }

  /**
   * Whether runs of the latest one's shapes are captured, so that they replay what it did; belongs
   * to the thread of the latest run.
   */
  default boolean isCaptured() {
    return false;
  }

  /** What the model's owner should know of how the session runs, a phrase each; for any thread. */
  default List<String> notes() {
    return List.of();
  }

  /**
   * Gives device memory back that the session can do without, and takes no more of the kind until
   * {@link #captureAgain}; belongs to the thread that has the session's lane.
   */
  default void shrink() {}

  /** Takes such memory again; belongs to the thread that has the session's lane. */
  default void captureAgain() {}

  /** Gives everything back; no run may be under way. */
  @Override
  void close();
}
