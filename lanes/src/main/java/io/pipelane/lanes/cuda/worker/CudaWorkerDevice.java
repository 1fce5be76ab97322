package io.pipelane.lanes.cuda.worker;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.lanes.DeviceEvent;
import io.pipelane.lanes.EphemeralRegion;
import io.pipelane.lanes.ExportedSlots;
import io.pipelane.lanes.MappedRange;
import io.pipelane.lanes.PersistentMemory;
import io.pipelane.lanes.cpu.SharedMemory;
import io.pipelane.lanes.cpu.execution.WorkerRegion;
import io.pipelane.lanes.cuda.ArrivalCount;
import io.pipelane.lanes.cuda.AwakeTime;
import io.pipelane.lanes.cuda.CudaEphemeralRegion;
import io.pipelane.lanes.cuda.CudaExport;
import io.pipelane.lanes.cuda.CudaHeap;
import io.pipelane.lanes.cuda.GrowingMemory;
import io.pipelane.lanes.cuda.PageHandover;
import io.pipelane.lanes.cuda.PartialLanes;
import io.pipelane.lanes.cuda.SessionDevice;
import io.pipelane.lanes.cuda.StateTable;
import io.pipelane.lanes.cuda.driver.CudaContext;
import io.pipelane.lanes.cuda.driver.CudaDriver;
import io.pipelane.lanes.cuda.driver.CudaException;
import io.pipelane.lanes.cuda.driver.CudaStream;
import io.pipelane.lanes.cuda.driver.HostReader;
import io.pipelane.lanes.cuda.driver.Mappings;
import io.pipelane.lanes.cuda.driver.PinnedHostMemory;
import io.pipelane.lanes.cuda.driver.VirtualMemory;
import java.lang.foreign.MemorySegment;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Consumer;
import java.util.function.LongSupplier;

/**
 * A GPU as a worker process has it: another process's pages, for reading, and its states; lanes and
 * session constants of its own. Lives as long as the process. Safe for any thread.
 */
public final class CudaWorkerDevice implements SessionDevice {
  /** As much of a lane's host memory is pinned; what lies behind it is staged. */
  private static final long PINNED_HOST_BYTES = 16L << 20;

  private final CudaExport export;
  private final CudaContext context;
  private final VirtualMemory memory;
  private final Mappings forReading;
  private final long[] pages;
  private final SharedMemory slotTable;
  private final ArrivalCount arrivals;
  private final CudaWorkerStates states;
  private final MemorySegment transferMemory;
  private final CudaHeap heap;
  private final PersistentMemory persistent;
  private final Map<Long, CudaWorkerRange> ranges = new ConcurrentHashMap<>();
  private final Map<Integer, CudaEphemeralRegion> regions = new ConcurrentHashMap<>();
  private final WorkerTables tables;
  private final WorkerTablePages tablePages;
  private final Optional<HostReader> hostReader;
  private volatile boolean lost;

  private CudaWorkerDevice(CudaExport export, CudaContext context) {
    this.export = export;
    this.context = context;
    this.memory = new VirtualMemory(context);
    this.forReading = memory.forReading();
    this.pages = PageHandover.takeWeights(memory, export.pageSocket(), export.pages());
    this.slotTable =
        SharedMemory.open(export.process(), export.slotTable(), export.slotTableBytes());
    this.arrivals = ArrivalCount.open(context, export.process(), export.arrivals());
    this.states =
        new CudaWorkerStates(
            memory,
            export.pageSocket(),
            StateTable.open(export.process(), export.stateTable(), export.statePages()),
            export.statePages());
    this.transferMemory =
        pinned(export.transferMemory(), export.transferBytes(), export.transferBytes());
    this.heap = new CudaHeap(new GrowingMemory(memory, context.totalBytes()));
    this.persistent = new PersistentMemory(heap);
    this.tables =
        new WorkerTables(export.process(), segment -> PinnedHostMemory.register(context, segment));
    this.tablePages = new WorkerTablePages(export.pageBytes(), this::range, this::giveBack);
    this.hostReader = HostReader.open(context);
  }

  /**
   * Opens what a device has exported, in a context of this process's own.
   *
   * @throws RuntimeException when that cannot be; the process is of no use then
   */
  public static CudaWorkerDevice open(CudaExport export) {
    return new CudaWorkerDevice(export, CudaContext.open(CudaDriver.load(), export.device()));
  }

  private MemorySegment pinned(int descriptor, long bytes, long pinnedBytes) {
    if (bytes == 0) {
      return MemorySegment.NULL;
    }
    MemorySegment all = SharedMemory.open(export.process(), descriptor, bytes).segment();
    PinnedHostMemory _ = PinnedHostMemory.register(context, all.asSlice(0, pinnedBytes));
    return all;
  }

  @Override
  public CudaContext context() {
    return context;
  }

  /** Session constants. */
  public PersistentMemory persistent() {
    return persistent;
  }

  /** The addresses of this process for a range; given back by as many as have asked for it. */
  public MappedRange range(ExportedSlots slots) {
    return ranges.compute(
        slots.range(), (key, range) -> (range == null ? reserve(slots) : range).shared());
  }

  private CudaWorkerRange reserve(ExportedSlots slots) {
    return new CudaWorkerRange(
        context, memory, forReading, pages, export.pageBytes(), slotTable.segment(), slots);
  }

  /** Gives a range back; its addresses go with its last user. */
  public void giveBack(ExportedSlots slots) {
    ranges.computeIfPresent(slots.range(), (key, range) -> range.unshared() ? null : range);
  }

  @Override
  public LongSupplier inPlace(long address, long byteSize) {
    CudaWorkerRange range =
        ranges.values().stream()
            .filter(each -> each.address() == address)
            .findFirst()
            .orElseThrow(() -> new IllegalArgumentException("no range begins at " + address));
    return () -> {
      OptionalLong pages = range.shownPages();
      return pages.isPresent()
          ? tablePages.address(pages.getAsLong(), byteSize)
          : tables.address(range.shown(), byteSize);
    };
  }

  private boolean isShown(long place) {
    return ranges.values().stream()
        .anyMatch(range -> range.shownPages().equals(OptionalLong.of(place)));
  }

  /** Gives back host memory that the server has closed, and states that it has given back. */
  public void tidy() {
    tables.tidy();
    tablePages.tidy(this::isShown);
    states.tidy();
  }

  /** Gives back states that the server has given back; costs nothing where it has not. */
  public void tidyStates() {
    states.tidy();
  }

  /**
   * Some of the server's states, to read and to write.
   *
   * @param offset as the server says it
   * @throws IllegalArgumentException when that is none
   * @throws StatusException {@link Status#INSUFFICIENT_MEMORY} or {@link Status#DEVICE_FAILURE}
   *     when it cannot be mapped
   */
  public MemorySegment state(long offset, long bytes) {
    try {
      return states.at(offset, bytes);
    } catch (CudaException | IllegalStateException e) {
      boolean isFull = e instanceof CudaException cuda && cuda.isOutOfMemory();
      throw new StatusException(
          isFull ? Status.INSUFFICIENT_MEMORY : Status.DEVICE_FAILURE,
          "a worker could not map a state: " + e.getMessage(),
          e);
    }
  }

  @Override
  public boolean isState(MemorySegment segment) {
    return states.contains(segment);
  }

  /**
   * The device memory and the stream of a lane; the limit is 0 at first.
   *
   * @param onNew told of it when it is new
   */
  public EphemeralRegion region(int lane, long maximumBytes, Consumer<EphemeralRegion> onNew) {
    return regions.computeIfAbsent(
        lane,
        number -> {
          PartialLanes partial = export.partial();
          boolean urgent = partial.areAny() && !partial.contains(number);
          CudaEphemeralRegion region =
              new CudaEphemeralRegion(
                  context, memory, maximumBytes, partial.percent(number), urgent, closed -> {});
          onNew.accept(region);
          return region;
        });
  }

  /** A lane that a session has been built for. */
  public EphemeralRegion region(int lane) {
    return Objects.requireNonNull(regions.get(lane), "no session belongs to the lane");
  }

  /**
   * A run begins in a lane: what lanes that keep to other parts of the device have taken is its to
   * take, if it keeps to a part as well, as one of these computes at a time.
   */
  public void begins(int lane) {
    if (export.partial().contains(lane)) {
      regions.forEach(
          (number, region) -> {
            if (number != lane && export.partial().contains(number) && region.limitBytes() > 0) {
              region.limit(0);
            }
          });
    }
  }

  /** A lane's host memory. */
  public WorkerRegion hostRegion(int descriptor, long bytes) {
    SharedMemory memory = SharedMemory.open(export.process(), descriptor, bytes);
    try {
      WorkerRegion region = WorkerRegion.over(memory, bytes);
      context.bind();
      PinnedHostMemory _ =
          PinnedHostMemory.register(context, region.at(0, Math.min(bytes, PINNED_HOST_BYTES)));
      return region;
    } catch (RuntimeException e) { // It is tried again, by the next run if nobody else.
      memory.close();
      throw e;
    }
  }

  /** Host memory of this process's own in place of a lane's. */
  public WorkerRegion spareHostRegion(long bytes) {
    return WorkerRegion.spare(bytes);
  }

  /** Whether the device has so much memory that nobody has taken. */
  public boolean hasFree(long bytes) {
    return context.freeBytes() >= bytes;
  }

  /** The server's transfer memory, pinned; empty where it has none. */
  public MemorySegment transferMemory() {
    return transferMemory;
  }

  /** What the count of arrivals will have come to when a copy of the server has ended. */
  public DeviceEvent arrival(int number) {
    return new NumberedEvent(arrivals, number);
  }

  /** How long a lane's thread stays awake for its next run. */
  public long awakeNanos() {
    return AwakeTime.nanos();
  }

  /** Ends everything that this process has on the device; no thread may use it afterwards. */
  public void release() {
    context.destroy();
  }

  /** Weights come in on a stream of another process. */
  @Override
  public Optional<CudaStream> busyCopyStream() {
    return Optional.empty();
  }

  @Override
  public Optional<HostReader> hostReader() {
    return hostReader;
  }

  @Override
  public long deviceBytes() {
    return heap.byteSize()
        + regions.values().stream().mapToLong(CudaEphemeralRegion::byteSize).sum();
  }

  @Override
  public long driverUsedBytes() {
    return context.usedBytes();
  }

  /** The server's to tell, which sees all processes. */
  @Override
  public long overheadBytes() {
    return 0;
  }

  /** Sees whether the device still does anything for this process; blocks. */
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
}
