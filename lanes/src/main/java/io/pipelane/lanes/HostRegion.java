package io.pipelane.lanes;

import java.lang.foreign.MemorySegment;
import java.util.OptionalInt;
import java.util.function.BooleanSupplier;

/** A lane's host memory that worker processes map too, which inputs and outputs lie in. */
public interface HostRegion extends EphemeralRegion {
  /** Stands for all workers that belong to nobody, which map the same memory. */
  long EVERY_WORKER = 0;

  /** Which of the device's lanes it belongs to, counted from 0. */
  int lane();

  /** What a worker opens the memory by that the lane has been handed to it with. */
  int descriptor();

  /** A part of the memory. */
  MemorySegment at(long offset, long bytes);

  /**
   * Makes the memory, where there is none yet, that a worker will be handed the lane with, for it
   * to open beforehand. Safe for any thread.
   *
   * @param worker its number, or {@link #EVERY_WORKER}
   * @param isGone whether its process is gone, so that nothing maps the memory any more
   * @return what it opens the memory by; empty where the lane is closed
   */
  OptionalInt prepareFor(long worker, BooleanSupplier isGone);

  /**
   * Gives a worker the lane for its next runs, with host memory that it alone maps, always the
   * same: nothing of another one's runs is there. Belongs to the lane's thread, between two runs.
   *
   * @param worker as for {@link #prepareFor}
   * @param isGone as for {@link #prepareFor}
   */
  void handTo(long worker, BooleanSupplier isGone);
}
