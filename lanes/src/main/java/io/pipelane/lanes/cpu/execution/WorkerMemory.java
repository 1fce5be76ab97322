package io.pipelane.lanes.cpu.execution;

import io.pipelane.lanes.ExportedSlots;
import io.pipelane.lanes.PersistentMemory;
import io.pipelane.lanes.cpu.CpuExport;
import io.pipelane.lanes.cpu.CpuHeap;
import io.pipelane.lanes.cpu.CpuStates;
import io.pipelane.lanes.cpu.LibC;
import io.pipelane.lanes.cpu.SessionRanges;
import io.pipelane.lanes.cpu.SharedMemory;
import io.pipelane.lanes.execution.DeviceMemory;
import io.pipelane.lanes.execution.SessionFactory;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/**
 * The CPU device as a worker process has it: another process's pages, for reading, its states once
 * a run reads one, and its lanes' regions, which it writes to. Lives as long as the process. Safe
 * for any thread.
 */
public final class WorkerMemory {
  private final long process;
  private final int pages;
  private final int statesThere;
  private final long pageBytes;
  private final SharedMemory slotTable;
  private final PersistentMemory persistent = new PersistentMemory(new CpuHeap());
  private final DeviceMemory allocations = new DeviceMemory(persistent);
  private final Map<Long, WorkerRange> ranges = new ConcurrentHashMap<>();

  /** Opened with the first that a run reads: a worker that is given none can see none. */
  private volatile @Nullable SharedMemory states;

  /** Opens what a device has exported. */
  public WorkerMemory(CpuExport export) {
    process = export.process();
    pages = LibC.open(SharedMemory.path(process, export.pages()), false);
    pageBytes = export.pageBytes();
    slotTable = SharedMemory.open(process, export.slotTable(), export.slotTableBytes());
    statesThere = export.states();
  }

  /** Session constants. */
  public PersistentMemory persistent() {
    return persistent;
  }

  /** Loads ONNX Runtime to build sessions over this memory. */
  public SessionFactory sessions(Path library, int threadsPerRun) {
    return new CpuSessionFactory(sessionRanges(), library, allocations, threadsPerRun);
  }

  private SessionRanges sessionRanges() {
    return new SessionRanges() {
      @Override
      public Scratch scratch(long address) {
        return rangeAt(address).scratch();
      }

      // Models for worker processes are imported without them, see CutSettings.
      @Override
      public long windowAddress(long address) {
        throw new IllegalStateException("worker processes read no tables in place");
      }

      @Override
      public boolean isState(MemorySegment segment) {
        SharedMemory known = states;
        return known != null && known.contains(segment);
      }
    };
  }

  private WorkerRange rangeAt(long address) {
    return ranges.values().stream()
        .filter(range -> range.address() == address)
        .findFirst()
        .orElseThrow(() -> new IllegalArgumentException("no range begins at " + address));
  }

  /** The addresses of this process for a range; closed by as many as have asked for it. */
  public WorkerRange range(ExportedSlots slots) {
    return ranges.compute(
        slots.range(), (key, range) -> (range == null ? reserve(slots) : range).shared());
  }

  private WorkerRange reserve(ExportedSlots slots) {
    return new WorkerRange(pages, pageBytes, slotTable.segment(), slots);
  }

  /** Gives a range back; its addresses go with its last user. */
  public void giveBack(ExportedSlots slots) {
    ranges.computeIfPresent(slots.range(), (key, range) -> range.unshared() ? null : range);
  }

  /**
   * Some of the server's states, for reading.
   *
   * @throws IllegalArgumentException when it has none there
   * @throws io.pipelane.config.StatusException when they cannot be mapped
   */
  public MemorySegment state(long offset, long bytes) {
    if (offset < 0 || bytes > CpuStates.ADDRESS_BYTES - offset) {
      throw new IllegalArgumentException(
          "%d bytes of states at %d, beyond %d".formatted(bytes, offset, CpuStates.ADDRESS_BYTES));
    }
    return states().segment().asSlice(offset, bytes);
  }

  private synchronized SharedMemory states() {
    SharedMemory known = states;
    if (known == null) {
      known = SharedMemory.openReadOnly(process, statesThere, CpuStates.ADDRESS_BYTES);
      states = known;
    }
    return known;
  }

  /** A lane's region. */
  public WorkerRegion region(int descriptor, long maximumBytes) {
    return added(
        WorkerRegion.over(SharedMemory.open(process, descriptor, maximumBytes), maximumBytes));
  }

  /** A region of this process's own, in place of a lane's. */
  public WorkerRegion spareRegion(long maximumBytes) {
    return added(WorkerRegion.spare(maximumBytes));
  }

  private WorkerRegion added(WorkerRegion region) {
    allocations.add(region);
    return region;
  }
}
