package io.pipelane.lanes.cpu;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.config.value.Bandwidth;
import io.pipelane.config.value.ByteSize;
import io.pipelane.lanes.AddressRange;
import io.pipelane.lanes.CopyEngine;
import io.pipelane.lanes.Device;
import io.pipelane.lanes.DeviceEvent;
import io.pipelane.lanes.DeviceStates;
import io.pipelane.lanes.EphemeralRegion;
import io.pipelane.lanes.ExportedSlots;
import io.pipelane.lanes.PagePool;
import io.pipelane.lanes.PagePool.Page;
import io.pipelane.lanes.PeerPages;
import io.pipelane.lanes.PersistentMemory;
import io.pipelane.lanes.SharedDevice;
import io.pipelane.lanes.allocation.ElsewhereHeap;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/**
 * The CPU under an accelerator's rules: weights live in a fixed number of pages and come in through
 * a copy engine of its own.
 *
 * <p>Opening takes addresses only: a page's memory is taken when it is first mapped and kept until
 * the device is closed.
 */
public final class CpuDevice implements SharedDevice {
  private static final String STANDARD_NAME = "cpu";
  private static final long MAXIMUM_PAGE_BYTES = 1L << 30;

  private final String name;
  private final CpuPagePool pages;
  private final CpuCopyEngine copies;
  private final PersistentMemory persistent;
  private final CpuStates states = new CpuStates();
  private final @Nullable SlotTable slotTable;
  private final @Nullable StandingFiles files;
  private final Set<CpuAddressRange> ranges = ConcurrentHashMap.newKeySet();
  private final Set<EphemeralRegion> regions = ConcurrentHashMap.newKeySet();
  private final AtomicInteger lanes = new AtomicInteger();
  private volatile boolean closed;

  /**
   * A device.
   *
   * @param slotTable tells workers what lies under the slots; null where sessions run here
   * @param files what pages can show in place of copies; null where everything is copied
   */
  private CpuDevice(
      String name,
      CpuPagePool pages,
      LinkThrottle throttle,
      @Nullable SlotTable slotTable,
      @Nullable StandingFiles files) {
    this.files = files;
    this.name = name;
    this.pages = pages;
    this.copies = new CpuCopyEngine(throttle, files, this::clearGone).start();
    this.slotTable = slotTable;
    this.persistent = new PersistentMemory(slotTable == null ? new CpuHeap() : new ElsewhereHeap());
  }

  /**
   * Opens the processor as one device, {@code cpu}; see {@link #open(String, ByteSize, ByteSize,
   * Bandwidth)}.
   */
  public static CpuDevice open(ByteSize memory, ByteSize page, Bandwidth link) {
    return open(STANDARD_NAME, memory, page, link);
  }

  /**
   * Opens a device.
   *
   * @param name what it is called; several devices of one processor have nothing in common but that
   * @param memory for weights, rounded down to whole pages
   * @param page a power of two, from the system's page size to 1 GiB
   * @param link the rate that copies are held down to
   * @throws StatusException {@link Status#INVALID_ARGUMENT} for a page size that cannot be, or
   *     memory for less than one page or for more than 2^31 - 1 of them
   */
  public static CpuDevice open(String name, ByteSize memory, ByteSize page, Bandwidth link) {
    return open(name, memory, page, link, true);
  }

  /**
   * The same where weights that come from mapped files may be copied each time.
   *
   * @param mapsWeights whether pages show parts of files that have been copied out of before,
   *     instead of a copy; never where the link has a rate
   */
  public static CpuDevice open(
      String name, ByteSize memory, ByteSize page, Bandwidth link, boolean mapsWeights) {
    TableMoves system = TableMoves.SYSTEM;
    return open(name, memory, page, link, LinkClock.SYSTEM, mapsWeights, system, system);
  }

  static CpuDevice open(ByteSize memory, ByteSize page, Bandwidth link, LinkClock clock) {
    TableMoves system = TableMoves.SYSTEM;
    return open(STANDARD_NAME, memory, page, link, clock, true, system, system);
  }

  /** A device that maps weights, which moves tables of files and of its pages so. */
  static CpuDevice open(
      ByteSize memory, ByteSize page, TableMoves filesMoves, TableMoves pagesMoves) {
    LinkClock clock = LinkClock.SYSTEM;
    Bandwidth link = Bandwidth.UNLIMITED;
    return open(STANDARD_NAME, memory, page, link, clock, true, filesMoves, pagesMoves);
  }

  private static CpuDevice open(
      String name,
      ByteSize memory,
      ByteSize page,
      Bandwidth link,
      LinkClock clock,
      boolean mapsWeights,
      TableMoves filesMoves,
      TableMoves pagesMoves) {
    CpuPagePool pages = pool(memory, page, pagesMoves);
    LinkThrottle throttle = new LinkThrottle(link, clock);
    StandingFiles files =
        !mapsWeights || throttle.isLimited()
            ? null
            : new StandingFiles(pages.lent().pageBytes(), filesMoves);
    return new CpuDevice(name, pages, throttle, null, files);
  }

  /**
   * Opens a device whose sessions run in worker processes: pages and lanes' regions can be mapped
   * there, ranges have no memory here, and accounts of persistent memory count only.
   *
   * @throws StatusException as {@link #open}
   */
  public static CpuDevice openForWorkers(
      String name, ByteSize memory, ByteSize page, Bandwidth link) {
    CpuPagePool pages = pool(memory, page, TableMoves.SYSTEM);
    LinkThrottle throttle = new LinkThrottle(link, LinkClock.SYSTEM);
    return new CpuDevice(name, pages, throttle, new SlotTable(), null);
  }

  /** The same for the processor as one device. */
  public static CpuDevice openForWorkers(ByteSize memory, ByteSize page, Bandwidth link) {
    return openForWorkers(STANDARD_NAME, memory, page, link);
  }

  private static CpuPagePool pool(ByteSize memory, ByteSize page, TableMoves moves) {
    long pageBytes = page.bytes();
    if (Long.bitCount(pageBytes) != 1
        || pageBytes < LibC.SYSTEM_PAGE_BYTES
        || pageBytes > MAXIMUM_PAGE_BYTES) {
      throw new StatusException(
          Status.INVALID_ARGUMENT,
          "a page size of %s is not a power of two from %s to %s"
              .formatted(
                  page, new ByteSize(LibC.SYSTEM_PAGE_BYTES), new ByteSize(MAXIMUM_PAGE_BYTES)));
    }
    long total = memory.bytes() / pageBytes;
    if (total < 1 || total > Integer.MAX_VALUE) {
      throw new StatusException(
          Status.INVALID_ARGUMENT,
          "device memory of %s is %d pages of %s; use from 1 to %d pages"
              .formatted(memory, total, page, Integer.MAX_VALUE));
    }
    return new CpuPagePool(pageBytes, (int) total, moves);
  }

  /** What a worker process needs to map this device's memory; for devices opened for workers. */
  public CpuExport export() {
    SlotTable table = requireForWorkers();
    return new CpuExport(
        ProcessHandle.current().pid(),
        pages.descriptor(),
        pages.lent().pageBytes(),
        table.memory().descriptor(),
        table.memory().segment().byteSize(),
        states.descriptor());
  }

  @Override
  public ExportedSlots slotsAt(long address) {
    return rangeAt(address).published().exported();
  }

  @Override
  public boolean isHostMemory() {
    return true;
  }

  @Override
  public boolean boundToLane() {
    return false;
  }

  private SlotTable requireForWorkers() {
    return Objects.requireNonNull(slotTable, "the device was not opened for workers");
  }

  @Override
  public String name() {
    return name;
  }

  @Override
  public PagePool pages() {
    return pages.lent();
  }

  @Override
  public boolean vacatesPages() {
    return true;
  }

  @Override
  public void vacate(Page page) {
    requireOpen();
    pages.vacate(page);
  }

  @Override
  public int shownPages() {
    return pages.shownPages();
  }

  /** How many parts of files lie under slots without a page. */
  int leftParts() {
    return pages.leftParts().get();
  }

  @Override
  public Optional<DeviceEvent> own(Page page) {
    requireOpen();
    return content(page).map(copies::own);
  }

  private void ownNow(Page page) {
    content(page).ifPresent(OwnContent::carryOut);
  }

  private Optional<OwnContent> content(Page page) {
    return Optional.ofNullable(pages.shownBy(page))
        .map(part -> new OwnContent(pages, page, part, () -> owned(page)));
  }

  @Override
  public void dropGone() {
    copies.lookForGone();
  }

  private void clearGone() {
    if (leftParts() > 0) {
      ranges.forEach(CpuAddressRange::clearGone);
    }
  }

  private void owned(Page page) {
    ranges.forEach(range -> range.owned(page));
  }

  @Override
  public AddressRange reserve(long bytes) {
    return reserve(bytes, 0);
  }

  @Override
  public AddressRange reserve(long bytes, long windowBytes) {
    requireOpen();
    long slots = bytes <= 0 ? 0 : (bytes - 1) / pages.lent().pageBytes() + 1;
    if (slots < 1 || slots > Integer.MAX_VALUE) {
      throw new IllegalArgumentException(
          "cannot reserve %d bytes in pages of %d".formatted(bytes, pages.lent().pageBytes()));
    }
    if (slotTable != null && windowBytes > 0) {
      throw new StatusException(
          Status.UNIMPLEMENTED,
          "worker processes read no tables in place; import the model for workers.isolation process");
    }
    PublishedSlots published = slotTable == null ? null : slotTable.publish((int) slots);
    CpuAddressRange range =
        new CpuAddressRange(
            pages, (int) slots, windowBytes, published, this::ownNow, ranges::remove);
    ranges.add(range);
    return range;
  }

  /** The ranges for sessions of this process. */
  public SessionRanges sessionRanges() {
    return new SessionRanges() {
      @Override
      public Scratch scratch(long address) {
        return rangeAt(address).scratch();
      }

      @Override
      public long windowAddress(long address) {
        return rangeAt(address).windowAddress();
      }

      @Override
      public boolean isState(MemorySegment segment) {
        return states.offsetOf(segment).isPresent();
      }
    };
  }

  /** The range that begins at an address. */
  CpuAddressRange rangeAt(long address) {
    return ranges.stream()
        .filter(range -> range.address() == address)
        .findFirst()
        .orElseThrow(() -> new IllegalArgumentException("no range begins at " + address));
  }

  @Override
  public CopyEngine copies() {
    return copies;
  }

  @Override
  public boolean borrowLink(Device lender) {
    requireOpen();
    return lender instanceof CpuDevice other && copies.borrow(other.copies);
  }

  @Override
  public void lendLinkWhile(BooleanSupplier idle) {
    copies.lendWhile(idle);
  }

  /** {@inheritDoc} Where links have no rate, the host's memory is as near. */
  @Override
  public Optional<PeerPages> readsPagesOf(Device other) {
    requireOpen();
    return other instanceof CpuDevice peer && peer != this && copies.isLimited()
        ? Optional.of(new CpuPeerPages(peer.pages))
        : Optional.empty();
  }

  /** A copy takes a processor and memory bandwidth from a run, which is slowed to a third or so. */
  @Override
  public int restBehindCopies() {
    return 16;
  }

  @Override
  public PersistentMemory persistent() {
    return persistent;
  }

  @Override
  public DeviceStates states() {
    return states;
  }

  /** {@inheritDoc} It is imitated by a lane like any: the system divides the processor's time. */
  @Override
  public void requireDivided(int percent) {}

  @Override
  public EphemeralRegion ephemeral(long maximumBytes) {
    requireOpen();
    if (maximumBytes <= 0) {
      throw new IllegalArgumentException("a region's maximum must be positive: " + maximumBytes);
    }
    EphemeralRegion region =
        slotTable == null
            ? new CpuEphemeralRegion(maximumBytes, regions::remove)
            : new SharedRegion(lanes.getAndIncrement(), maximumBytes, false, regions::remove);
    regions.add(region);
    return region;
  }

  @Override
  public void close() {
    if (closed) {
      return;
    }
    closed = true;
    copies.close();
    List.copyOf(ranges).forEach(CpuAddressRange::closeWithPages);
    List.copyOf(regions).forEach(EphemeralRegion::close);
    persistent.close();
    states.close();
    if (slotTable != null) {
      slotTable.close();
    }
    pages.close();
    if (files != null) {
      files.close();
    }
  }

  private void requireOpen() {
    if (closed) {
      throw new IllegalStateException("the device is closed");
    }
  }
}
