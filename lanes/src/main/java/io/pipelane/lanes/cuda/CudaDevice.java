package io.pipelane.lanes.cuda;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.config.value.ByteSize;
import io.pipelane.lanes.AddressRange;
import io.pipelane.lanes.CopyEngine;
import io.pipelane.lanes.Device;
import io.pipelane.lanes.DeviceStates;
import io.pipelane.lanes.EphemeralRegion;
import io.pipelane.lanes.ExportedSlots;
import io.pipelane.lanes.PagePool;
import io.pipelane.lanes.PeerPages;
import io.pipelane.lanes.PersistentMemory;
import io.pipelane.lanes.Releases;
import io.pipelane.lanes.SharedDevice;
import io.pipelane.lanes.allocation.ElsewhereHeap;
import io.pipelane.lanes.cpu.PublishedSlots;
import io.pipelane.lanes.cpu.SharedMemory;
import io.pipelane.lanes.cuda.copy.LentLink;
import io.pipelane.lanes.cuda.driver.CudaContext;
import io.pipelane.lanes.cuda.driver.CudaDriver;
import io.pipelane.lanes.cuda.driver.CudaException;
import io.pipelane.lanes.cuda.driver.CudaStream;
import io.pipelane.lanes.cuda.driver.HostReader;
import io.pipelane.lanes.cuda.driver.MultiprocessorShare;
import io.pipelane.lanes.cuda.driver.VirtualMemory;
import java.lang.System.Logger.Level;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.BooleanSupplier;
import java.util.function.LongSupplier;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * A GPU: weights live in pages of device memory, taken when it is opened, and come in through a
 * copy stream with a thread of its own. Safe for any thread where {@link Device}'s parts are.
 */
public final class CudaDevice implements SharedDevice, SessionDevice {
  private static final System.Logger LOG = System.getLogger(CudaDevice.class.getName());
  private static final Pattern NAME = Pattern.compile("cuda:(\\d{1,4})\\b.*");
  private static final long MAXIMUM_PAGE_BYTES = 1L << 30;

  private final Releases releases;
  private final CudaContext context;
  private final VirtualMemory memory;
  private final long baselineBytes;
  private final CudaPagePool pages;
  private final CudaStates states;
  private final @Nullable CudaHeap heap;
  private final @Nullable WorkerShare share;
  private final PersistentMemory persistent;
  private final CudaCopyEngine copies;
  private final Set<CudaAddressRange> ranges = ConcurrentHashMap.newKeySet();
  private final Set<EphemeralRegion> regions = ConcurrentHashMap.newKeySet();
  private final List<CudaPeerPages> peers = new CopyOnWriteArrayList<>();
  private final AtomicInteger lanes = new AtomicInteger();
  private volatile BooleanSupplier lendable = () -> true;
  private @Nullable LentLink lentLink; // guarded by this
  private volatile boolean closed;
  private volatile boolean lost;

  /**
   * A device.
   *
   * @param forWorkers whether sessions run in other processes
   */
  private CudaDevice(
      Releases releases, CudaContext context, ByteSize weights, ByteSize page, boolean forWorkers) {
    this.releases = releases;
    this.context = context;
    this.baselineBytes = context.usedBytes();
    this.memory = new VirtualMemory(context);
    int total = pageCount(weights, page, memory.granularity());
    this.pages = releases.add(new CudaPagePool(memory, page.bytes(), total));
    this.states = releases.add(new CudaStates(context, memory));
    PersistentMemory.Heap constants;
    if (forWorkers) {
      this.share = releases.add(new WorkerShare(context, memory, pages, states));
      this.heap = null;
      constants = new ElsewhereHeap();
    } else {
      this.share = null;
      this.heap = releases.add(new CudaHeap(new GrowingMemory(memory, context.totalBytes())));
      constants = heap;
    }
    this.persistent = releases.add(new PersistentMemory(constants));
    releases.add(regions, all -> List.copyOf(all).forEach(EphemeralRegion::close));
    releases.add(ranges, all -> List.copyOf(all).forEach(CudaAddressRange::closeWithPages));
    releases.add(peers, all -> all.forEach(CudaPeerPages::close));
    ArrivalCount arrivals = share == null ? null : share.arrivals();
    this.copies = releases.add(new CudaCopyEngine(context, arrivals)).start();
  }

  /**
   * Opens a device and takes the memory of all its pages.
   *
   * @param index CUDA's number of the device
   * @param weights memory for weights, rounded down to whole pages
   * @param page a power of two, from the device's granularity (2 MiB) to 1 GiB
   * @throws IllegalArgumentException when there is no such device
   * @throws StatusException {@link Status#INVALID_ARGUMENT} for a page size that cannot be, or
   *     memory for less than one page; {@link Status#INSUFFICIENT_MEMORY} when the device has not
   *     as much; {@link Status#INTERNAL} when the driver fails otherwise
   */
  public static CudaDevice open(CudaDriver driver, int index, ByteSize weights, ByteSize page) {
    return open(driver, index, weights, page, false);
  }

  /**
   * Opens a device whose sessions run in worker processes; they allocate constants and lanes, which
   * are counted here alone.
   *
   * @throws StatusException as {@link #open}
   */
  public static CudaDevice openForWorkers(
      CudaDriver driver, int index, ByteSize weights, ByteSize page) {
    return open(driver, index, weights, page, true);
  }

  private static CudaDevice open(
      CudaDriver driver, int index, ByteSize weights, ByteSize page, boolean forWorkers) {
    Releases releases = new Releases();
    CudaContext context = null;
    try {
      context = releases.add(CudaContext.open(driver, index));
      return new CudaDevice(releases, context, weights, page, forWorkers);
    } catch (RuntimeException e) {
      RuntimeException reason = e;
      if (e instanceof CudaException failure) {
        reason = notOpened(index, context, weights, failure);
      }
      try {
        releases.close();
      } catch (RuntimeException suppressed) {
        reason.addSuppressed(suppressed);
      }
      throw reason;
    }
  }

  /** Which GPU has such a {@link #name}, counted from 0; empty for the name of another device. */
  public static OptionalInt ordinal(String name) {
    Matcher gpu = NAME.matcher(name);
    return gpu.matches() ? OptionalInt.of(Integer.parseInt(gpu.group(1))) : OptionalInt.empty();
  }

  @Override
  public String name() {
    return "cuda:" + context.index() + " " + context.deviceName();
  }

  @Override
  public CudaContext context() {
    return context;
  }

  @Override
  public PagePool pages() {
    return pages.lent();
  }

  @Override
  public AddressRange reserve(long bytes) {
    return reserve(bytes, 0);
  }

  /** {@inheritDoc} The window shows pinned memory, see {@link CudaHostMemory}. */
  @Override
  public AddressRange reserve(long bytes, long windowBytes) {
    requireOpen();
    if (windowBytes != 0 && !context.readsPinnedMemory()) {
      throw new StatusException(
          Status.UNIMPLEMENTED,
          name()
              + " does not read host memory at its own addresses; set switching.read-in-place to"
              + " processor");
    }
    long pageBytes = pages.lent().pageBytes();
    long slots = bytes <= 0 ? 0 : (bytes - 1) / pageBytes + 1;
    if (slots < 1 || slots > Integer.MAX_VALUE) {
      throw new IllegalArgumentException(
          "cannot reserve %d bytes in pages of %d".formatted(bytes, pageBytes));
    }
    PublishedSlots published = share == null ? null : share.slotTable().publish((int) slots);
    InPlaceWindow window = new InPlaceWindow(windowBytes, context::isPinned, published);
    CudaAddressRange range =
        new CudaAddressRange(pages, copies, memory, (int) slots, window, published, ranges::remove);
    ranges.add(range);
    return range;
  }

  @Override
  public boolean windowsShowPages() {
    return true;
  }

  @Override
  public CopyEngine copies() {
    return copies;
  }

  @Override
  public boolean borrowLink(Device lender) {
    requireOpen();
    if (!(lender instanceof CudaDevice other) || other == this || !context.canRead(other.context)) {
      return false;
    }
    try {
      context.allowReading(other.context);
      copies.borrow(other.lentLink());
      return true;
    } catch (CudaException e) {
      LOG.log(Level.WARNING, name() + " cannot borrow the link of " + other.name(), e);
      return false;
    }
  }

  /** A copy takes of a run's memory bandwidth, and inputs pass the same link behind it. */
  @Override
  public int restBehindCopies() {
    return 1;
  }

  @Override
  public Optional<PeerPages> readsPagesOf(Device other) {
    requireOpen();
    if (!(other instanceof CudaDevice peer) || peer == this || !context.canRead(peer.context)) {
      return Optional.empty();
    }
    try {
      context.allowReading(peer.context);
      CudaPeerPages read = new CudaPeerPages(memory, peer.pages);
      peers.add(read);
      return Optional.of(read);
    } catch (CudaException e) {
      LOG.log(Level.WARNING, name() + " cannot read the pages of " + peer.name(), e);
      return Optional.empty();
    }
  }

  @Override
  public void lendLinkWhile(BooleanSupplier idle) {
    lendable = idle;
  }

  private synchronized LentLink lentLink() {
    requireOpen();
    if (lentLink == null) {
      lentLink = releases.add(new LentLink(context, this::needsItsLink));
    }
    return lentLink;
  }

  private boolean needsItsLink() {
    return copies.isBusy() || lost || !lendable.getAsBoolean();
  }

  @Override
  public Optional<CudaStream> busyCopyStream() {
    return copies.busyStream();
  }

  /** Its own copy stream brings inputs in between the weights. */
  @Override
  public Optional<HostReader> hostReader() {
    return Optional.empty();
  }

  @Override
  public PersistentMemory persistent() {
    return persistent;
  }

  @Override
  public DeviceStates states() {
    return states;
  }

  @Override
  public boolean isState(MemorySegment segment) {
    return states.contains(segment);
  }

  @Override
  public EphemeralRegion ephemeral(long maximumBytes) {
    return ephemeral(maximumBytes, CudaEphemeralRegion.WHOLE, true);
  }

  /** {@inheritDoc} It is tried, as workers do it only when they need it. */
  @Override
  public void requireDivided(int percent) {
    if (percent < CudaEphemeralRegion.WHOLE) {
      MultiprocessorShare.open(context, percent).close();
    }
  }

  /** {@inheritDoc} Where sessions run in workers, they are told of it by {@link #export}. */
  @Override
  public EphemeralRegion ephemeral(long maximumBytes, int percent) {
    return ephemeral(maximumBytes, percent, false);
  }

  private EphemeralRegion ephemeral(long maximumBytes, int percent, boolean urgent) {
    requireOpen();
    if (maximumBytes <= 0) {
      throw new IllegalArgumentException("a region's maximum must be positive: " + maximumBytes);
    }
    EphemeralRegion region =
        share == null
            ? new CudaEphemeralRegion(
                context, memory, maximumBytes, percent, urgent, regions::remove)
            : new CudaSharedRegion(lanes.getAndIncrement(), maximumBytes, regions::remove);
    regions.add(region);
    return region;
  }

  /**
   * What a worker process opens this device by; for devices opened for workers.
   *
   * @param partial which of the lanes keep to a part of the device
   * @param transferMemory where inputs may lie; kept open as long as workers are started
   */
  public CudaExport export(
      ExecutionSettings execution, PartialLanes partial, SharedMemory transferMemory) {
    return requireForWorkers().export(execution, partial, transferMemory);
  }

  private WorkerShare requireForWorkers() {
    return Objects.requireNonNull(share, "the device was not opened for workers");
  }

  @Override
  public ExportedSlots slotsAt(long address) {
    return rangeAt(address).published().exported();
  }

  @Override
  public LongSupplier inPlace(long address, long byteSize) {
    return rangeAt(address)::windowAddress;
  }

  private CudaAddressRange rangeAt(long address) {
    return ranges.stream()
        .filter(range -> range.address() == address)
        .findFirst()
        .orElseThrow(() -> new IllegalArgumentException("no range begins at " + address));
  }

  @Override
  public boolean boundToLane() {
    return true;
  }

  @Override
  public long awakeNanos() {
    return AwakeTime.nanos();
  }

  /**
   * Blocks until every page lies where it was put, for work on a page that is mapped without a copy
   * into it: mapping is carried out behind the caller's back, and only copies wait for it.
   *
   * @throws StatusException when the driver cannot map a page
   */
  public void awaitMappings() {
    copies.settle();
  }

  @Override
  public long deviceBytes() {
    return pages.byteSize()
        + states.byteSize()
        + (heap == null ? 0 : heap.byteSize())
        + lentBytes()
        + regions.stream()
            .mapToLong(region -> region instanceof CudaEphemeralRegion own ? own.byteSize() : 0)
            .sum();
  }

  private synchronized long lentBytes() {
    return lentLink == null ? 0 : LentLink.byteSize();
  }

  @Override
  public long overheadBytes() {
    long accounted =
        pages.byteSize()
            + states.byteSize()
            + persistent.usedBytes()
            + regions.stream().mapToLong(EphemeralRegion::limitBytes).sum();
    return Math.max(0, driverUsedBytes() - baselineBytes - accounted);
  }

  @Override
  public long driverUsedBytes() {
    return context.usedBytes();
  }

  /** {@link #driverUsedBytes} before this object took any: contexts and other processes. */
  public long baselineBytes() {
    return baselineBytes;
  }

  @Override
  public void check() {
    if (!context.answers()) {
      giveUp();
    }
  }

  @Override
  public void giveUp() {
    lost = true;
  }

  @Override
  public boolean isLost() {
    return lost;
  }

  @Override
  public void close() {
    if (!closed) {
      closed = true;
      releases.close();
    }
  }

  private static int pageCount(ByteSize weights, ByteSize page, long granularity) {
    long pageBytes = page.bytes();
    if (Long.bitCount(pageBytes) != 1
        || pageBytes < granularity
        || pageBytes > MAXIMUM_PAGE_BYTES) {
      throw new StatusException(
          Status.INVALID_ARGUMENT,
          "a page size of %s is not a power of two from %s to %s"
              .formatted(page, new ByteSize(granularity), new ByteSize(MAXIMUM_PAGE_BYTES)));
    }
    long total = weights.bytes() / pageBytes;
    if (total < 1 || total > Integer.MAX_VALUE) {
      throw new StatusException(
          Status.INVALID_ARGUMENT,
          "device memory of %s is %d pages of %s; use from 1 to %d pages"
              .formatted(weights, total, page, Integer.MAX_VALUE));
    }
    return (int) total;
  }

  private static StatusException notOpened(
      int index, @Nullable CudaContext context, ByteSize weights, CudaException failure) {
    if (context == null || !failure.isOutOfMemory()) {
      return new StatusException(
          Status.INTERNAL, "cuda:" + index + " cannot be opened: " + failure.getMessage(), failure);
    }
    return new StatusException(
        Status.INSUFFICIENT_MEMORY,
        "cuda:%d has no %s for weights: it has %s in all, others use some; lower the device's memory"
            .formatted(index, weights, new ByteSize(context.totalBytes())),
        failure);
  }

  private void requireOpen() {
    if (closed) {
      throw new IllegalStateException("the device is closed");
    }
  }
}
