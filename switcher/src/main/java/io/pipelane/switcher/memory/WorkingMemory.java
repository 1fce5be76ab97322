package io.pipelane.switcher.memory;

import io.pipelane.config.SharingConfig;
import io.pipelane.config.StatusException;
import io.pipelane.lanes.Device;
import io.pipelane.lanes.execution.DeviceMemory;
import io.pipelane.lanes.execution.Lanes;
import io.pipelane.lanes.execution.ShareLane;
import java.lang.System.Logger.Level;
import java.util.Optional;
import java.util.function.BooleanSupplier;

/**
 * The device memory that is not for weights, and how it is parted: the lanes, with the sessions and
 * states beside them, and the lane of the share of multiprocessors, where offline work has one.
 */
public final class WorkingMemory implements AutoCloseable {
  private static final System.Logger LOG = System.getLogger(WorkingMemory.class.getName());

  private final Lanes lanes;
  private final OfflineWorkingMemory offline;
  private final Optional<ShareLane> shareLane;

  /**
   * Parts a device's working memory, of which nothing is held yet.
   *
   * @param memory told the lanes, as what sessions allocate from
   * @param bytes of all working memory
   * @param lanes beside that of a share
   * @param mostBorrowedBytes what lanes may have of the memory for weights for a time
   * @param offlineShare of it that offline work may hold; half of that is the share's lane's, where
   *     there is one
   * @param writeStateOut has the state of an offline sequence give its memory up; false when none
   *     does
   */
  public WorkingMemory(
      Device device,
      DeviceMemory memory,
      long bytes,
      int lanes,
      long mostBorrowedBytes,
      double offlineShare,
      SharingConfig sharing,
      BooleanSupplier writeStateOut) {
    boolean hasShare = sharing.hasShare() && isDivided(device, sharing);
    long offlineBytes = (long) (bytes * offlineShare);
    long shareBytes = hasShare ? offlineBytes / 2 : 0;
    this.lanes = new Lanes(device, memory, bytes - shareBytes, lanes, mostBorrowedBytes);
    this.offline =
        new OfflineWorkingMemory(this.lanes, offlineBytes - shareBytes, bytes, writeStateOut);
    this.shareLane = // The last of the lanes: workers know it by its number.
        hasShare
            ? Optional.of(
                new ShareLane(device, memory, shareBytes, sharing.multiprocessorsPercent()))
            : Optional.empty();
  }

  private static boolean isDivided(Device device, SharingConfig config) {
    try {
      device.requireDivided(config.multiprocessorsPercent());
      return true;
    } catch (StatusException e) {
      LOG.log(
          Level.WARNING,
          "offline work has no multiprocessors of its own, though sharing.multiprocessors is {0}: {1}",
          config.multiprocessors(),
          e.getMessage());
      return false;
    }
  }

  /** The lanes beside that of a share; sessions and states are charged to them. */
  public Lanes lanes() {
    return lanes;
  }

  /** What offline work may hold of {@link #lanes}. */
  public OfflineWorkingMemory offline() {
    return offline;
  }

  /** The lane whose work keeps to a share of the multiprocessors, where there is one. */
  public Optional<ShareLane> shareLane() {
    return shareLane;
  }

  /** What all lanes, sessions and states may take. */
  public long capacityBytes() {
    return lanes.capacityBytes() + shareLane.map(ShareLane::capacityBytes).orElse(0L);
  }

  /** What all lanes take now. */
  public long laneBytes() {
    return lanes.laneBytes() + shareLane.map(ShareLane::heldBytes).orElse(0L);
  }

  /** Gives everything back; nothing runs any more. */
  @Override
  public void close() {
    lanes.close();
    shareLane.ifPresent(ShareLane::close);
  }
}
