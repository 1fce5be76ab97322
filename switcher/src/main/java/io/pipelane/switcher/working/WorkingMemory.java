package io.pipelane.switcher.working;

import io.pipelane.config.StatusException;
import io.pipelane.config.section.SharingConfig;
import io.pipelane.lanes.Device;
import io.pipelane.lanes.execution.DeviceMemory;
import io.pipelane.lanes.execution.Lanes;
import io.pipelane.lanes.execution.ShareLane;
import io.pipelane.modelstore.repository.ModelOptions.Priority;
import java.lang.System.Logger.Level;
import java.util.List;
import java.util.function.BooleanSupplier;

/**
 * The device memory that is not for weights, and how it is parted. There are the lanes, with the
 * sessions and states beside them. Where offline work has a share of multiprocessors, there are
 * that share's lanes too: one for each size that it may have, of which one is in use.
 */
public final class WorkingMemory implements AutoCloseable {
  private static final System.Logger LOG = System.getLogger(WorkingMemory.class.getName());

  private final Lanes lanes;
  private final StateShare states;
  private final OfflineWorkingMemory offline;
  private final List<ShareLane> shareLanes;
  private final long shareBytes;

  /**
   * Parts a device's working memory, of which nothing is held yet.
   *
   * @param memory told the lanes, as what sessions allocate from
   * @param bytes of all working memory
   * @param lanes beside that of a share
   * @param mostBorrowedBytes what lanes may have of the memory for weights for a time
   * @param offlineShare of it that offline work may hold; half of that is the share's lanes', where
   *     there are any
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
    List<Integer> sizes = dividing(device, sharing);
    long offlineBytes = (long) (bytes * offlineShare);
    this.shareBytes = sizes.isEmpty() ? 0 : offlineBytes / 2;
    this.lanes = new Lanes(device, memory, bytes - shareBytes, lanes, mostBorrowedBytes);
    this.states = new StateShare(this.lanes.capacityBytes());
    this.offline =
        new OfflineWorkingMemory(
            states.of(this.lanes), offlineBytes - shareBytes, bytes, writeStateOut);
    this.shareLanes = // The last of the lanes: workers know them by their numbers.
        sizes.stream().map(size -> new ShareLane(device, memory, shareBytes, size)).toList();
  }

  /** The sizes that the device can be divided into, up to the first that it cannot. */
  private static List<Integer> dividing(Device device, SharingConfig config) {
    return config.shareSizes().stream().takeWhile(size -> isDivided(device, size, config)).toList();
  }

  private static boolean isDivided(Device device, int percent, SharingConfig config) {
    try {
      device.requireDivided(percent);
      return true;
    } catch (StatusException e) {
      LOG.log(
          Level.WARNING,
          "offline work cannot have {0} % of the multiprocessors for its own, though"
              + " sharing.multiprocessors is {1}: {2}",
          percent,
          config.multiprocessors(),
          e.getMessage());
      return false;
    }
  }

  /** The lanes beside that of a share; sessions and states are charged to them. */
  public Lanes lanes() {
    return lanes;
  }

  /** What states may hold of {@link #lanes}. */
  public StateShare states() {
    return states;
  }

  /** What offline work may hold of {@link #lanes}. */
  public OfflineWorkingMemory offline() {
    return offline;
  }

  /**
   * The lanes whose work keeps to a share of the multiprocessors, from the smallest to the largest.
   * Each may take all that is theirs, and who goes on in another leaves the one.
   */
  public List<ShareLane> shareLanes() {
    return shareLanes;
  }

  /** What all lanes, sessions and states may take. */
  public long capacityBytes() {
    return lanes.capacityBytes() + shareBytes;
  }

  /**
   * What a state could have at most beside a step's lane and session, were nothing else held.
   *
   * @param of the class that the state is charged to
   * @param step the step's, which its lane is
   * @param laneBytes of {@link #lanes}; what is borrowed takes no room of states
   */
  public long mostOfState(Priority of, Priority step, long laneBytes, long sessionBytes) {
    long most = lanes.capacityBytes() - sessionBytes;
    long besideLane = most - Math.max(0, laneBytes - lanes.borrowed().bytes());
    return switch (of) {
      case ONLINE -> besideLane;
      case OFFLINE ->
          Math.min(
              besideLane, offline.capacityBytes() - (step == Priority.OFFLINE ? laneBytes : 0));
    };
  }

  /** What all lanes take now. */
  public long laneBytes() {
    return lanes.laneBytes() + shareLanes.stream().mapToLong(ShareLane::heldBytes).sum();
  }

  /** Gives everything back; nothing runs any more. */
  @Override
  public void close() {
    lanes.close();
    shareLanes.forEach(ShareLane::close);
  }
}
