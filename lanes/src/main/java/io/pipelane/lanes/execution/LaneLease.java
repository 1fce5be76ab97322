package io.pipelane.lanes.execution;

import io.pipelane.lanes.EphemeralRegion;
import java.util.function.Consumer;
import java.util.function.LongSupplier;

/** The right to run one iteration in a lane, alone until it is closed. */
public final class LaneLease implements AutoCloseable {
  private final EphemeralRegion region;
  private final LongSupplier neededBytes;
  private final MemoryTarget.Growth growth;
  private final Consumer<String> stuck;
  private final Runnable leave;

  LaneLease(
      EphemeralRegion region,
      LongSupplier neededBytes,
      MemoryTarget.Growth growth,
      Consumer<String> stuck,
      Runnable leave) {
    this.region = region;
    this.neededBytes = neededBytes;
    this.growth = growth;
    this.stuck = stuck;
    this.leave = leave;
  }

  /** The lane's memory, empty at the beginning and at the end of the iteration. */
  public EphemeralRegion region() {
    return region;
  }

  /**
   * What the iteration cannot do without of the lanes' memory, as it was known to or has shown; its
   * lane may have more. 0 in the lane of a share, which has memory of its own.
   */
  public long neededBytes() {
    return neededBytes.getAsLong();
  }

  /**
   * Makes the lane larger for one more allocation, where it may grow and the safety condition
   * allows it.
   *
   * @return false when it does not
   */
  public boolean grow(long bytes) {
    return growth.grow(bytes);
  }

  /**
   * Says that the iteration was ended, and that its process does not end and keeps the lane: until
   * it is left, it counts as stuck, and nobody is kept waiting for it.
   *
   * @param reason why it was ended
   */
  public void markStuck(String reason) {
    stuck.accept(reason);
  }

  /**
   * The same lane, asked for more by way of somebody else, and left with something else to do.
   *
   * @param mayGrow asked before the lane grows by so many bytes
   * @param whenStuck told why, when it is stuck
   * @param whenLeft done once the lane is left
   */
  public LaneLease within(
      MemoryTarget.Growth mayGrow, Consumer<String> whenStuck, Runnable whenLeft) {
    return new LaneLease(
        region,
        neededBytes,
        bytes -> mayGrow.grow(bytes) && growth.grow(bytes),
        stuck.andThen(whenStuck),
        () -> {
          try {
            leave.run();
          } finally {
            whenLeft.run();
          }
        });
  }

  @Override
  public void close() {
    leave.run();
  }
}
