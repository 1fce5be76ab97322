package io.pipelane.lanes;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import java.util.Optional;
import java.util.function.BooleanSupplier;

/**
 * One accelerator, or the CPU under the same rules: it lends pages for weights, address ranges to
 * map them into, copies into them, persistent memory and ephemeral regions.
 *
 * <p>A device enforces its own physical limits and keeps no policy: what is lent to whom is decided
 * by the memory daemon.
 */
public interface Device extends AutoCloseable {
  /** A name a person recognises, e.g. {@code cpu} or {@code cuda:0 NVIDIA H200}. */
  String name();

  /** The pages that weights live in. */
  PagePool pages();

  /** Whether lanes can have the memory of pages, see {@link #vacate}. */
  default boolean vacatesPages() {
    return false;
  }

  /**
   * Gives the memory back that lies under a lent page, so that lanes can have as much; the page has
   * memory again when it is mapped next. For any thread, one at a time for each page.
   *
   * @param page mapped nowhere, and no copy is under way to it
   * @throws StatusException {@link Status#UNIMPLEMENTED} on a device that does not
   */
  default void vacate(PagePool.Page page) {
    throw new StatusException(Status.UNIMPLEMENTED, name() + " keeps the memory of its pages");
  }

  /**
   * Pages that hold no copy of weights, but show them where they lie in memory that the system may
   * take away and bring back; see {@link #own}. On any thread.
   */
  default int shownPages() {
    return 0;
  }

  /**
   * Has a lent page hold a copy of what it shows, behind all copies, whoever reads it meanwhile.
   * The page may be given back at any time once this has returned; nothing is copied any more then.
   *
   * @return happens when the page has the copy or has been given back, or fails; empty when it
   *     shows nothing
   */
  default Optional<DeviceEvent> own(PagePool.Page page) {
    return Optional.empty();
  }

  /**
   * Lets go of what is kept of files whose weights nobody can bring in any more, as soon as nothing
   * is to be copied; asked once in a while, on any thread, and returns at once.
   */
  default void dropGone() {}

  /**
   * Reserves a range of addresses, a whole number of pages long and without memory; it never moves.
   *
   * @param bytes rounded up to whole pages
   */
  AddressRange reserve(long bytes);

  /**
   * The same with a window behind the slots, through which weights are read where they lie in host
   * memory.
   *
   * @param windowBytes 0 for none
   * @throws StatusException {@link Status#UNIMPLEMENTED} on a device that reads nothing in place
   */
  default AddressRange reserve(long bytes, long windowBytes) {
    if (windowBytes != 0) {
      throw new StatusException(
          Status.UNIMPLEMENTED,
          name() + " reads no weights in place; import the model for this device");
    }
    return reserve(bytes);
  }

  /**
   * Whether windows show pages of the device as well, see {@link AddressRange#showPages}; what runs
   * read there is nearer to them than host memory.
   */
  default boolean windowsShowPages() {
    return false;
  }

  /** The queue of copies from the host; copies are carried out in the order they are given. */
  CopyEngine copies();

  /**
   * Lets copies to this device come in over another's link as well, while that one has none of its
   * own to carry (parallel transmission, as DeepPlan has it). The lender may be closed before this
   * device is.
   *
   * @return false where the one cannot reach the other; copies keep to this device's link then
   */
  default boolean borrowLink(Device lender) {
    return false;
  }

  /**
   * Says when this device's link may be lent, beside when it has copies of its own: asked often, on
   * any thread, and answers at once.
   */
  default void lendLinkWhile(BooleanSupplier idle) {}

  /**
   * Lets copies to this device come out of another's pages as well, past the host and its links.
   *
   * @return empty where the one cannot read the other, or that would be no faster
   */
  default Optional<PeerPages> readsPagesOf(Device other) {
    return Optional.empty();
  }

  /**
   * How many times as long as it took the link rests behind a copy that nobody waits for, while
   * something runs; 0 where copies take nothing from runs.
   */
  default int restBehindCopies() {
    return 0;
  }

  /** Memory that outlives an iteration: session constants. */
  PersistentMemory persistent();

  /** Memory for what models keep from one run to the next. */
  default DeviceStates states() {
    return DeviceStates.ON_HOST;
  }

  /**
   * Creates a region for a lane's activations and scratch, of a fixed address range. Its limit is 0
   * until it is raised.
   *
   * @param maximumBytes what it may ever grow to; addresses are reserved, memory is taken on growth
   */
  EphemeralRegion ephemeral(long maximumBytes);

  /**
   * Looks whether some of the multiprocessors can be set apart, before anything is reserved for
   * them.
   *
   * @param percent of all, from 1 to 100
   * @throws StatusException {@link Status#UNIMPLEMENTED} on a device that is not divided
   */
  default void requireDivided(int percent) {
    throw new StatusException(
        Status.UNIMPLEMENTED, name() + " has no multiprocessors to set apart");
  }

  /**
   * Creates a region as {@link #ephemeral} does, whose lane's work keeps to a part of the device,
   * so that work elsewhere has the rest to itself, or with all of it goes after that.
   *
   * @param percent of the device's multiprocessors, from 1 to 100, at least
   * @throws StatusException {@link Status#UNIMPLEMENTED} on a device that is not divided
   */
  default EphemeralRegion ephemeral(long maximumBytes, int percent) {
    requireDivided(percent);
    return ephemeral(maximumBytes);
  }

  /** Gives everything back; every range, region and allocation is dead afterwards. */
  @Override
  void close();
}
