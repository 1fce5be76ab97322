package io.pipelane.lanes.cuda;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.config.value.ByteSize;
import io.pipelane.lanes.DeviceStates;
import io.pipelane.lanes.Releases;
import io.pipelane.lanes.allocation.FreeList;
import io.pipelane.lanes.cuda.driver.CudaContext;
import io.pipelane.lanes.cuda.driver.CudaException;
import io.pipelane.lanes.cuda.driver.CudaStream;
import io.pipelane.lanes.cuda.driver.DeviceSegment;
import io.pipelane.lanes.cuda.driver.VirtualMemory;
import java.lang.System.Logger.Level;
import java.lang.foreign.MemorySegment;
import java.util.OptionalLong;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * States in device memory, at addresses that never move. Worker processes map the same memory, see
 * {@code CudaWorkerStates}.
 */
public final class CudaStates implements DeviceStates, AutoCloseable {
  /*
   * There are addresses for as much memory as the device has. Blocks are cut from them by the
   * best-fit list that lanes use. A page (a granule of the driver's) has memory while a block lies
   * on it. The table tells workers what lies where. They keep memory mapped that has gone from its
   * page until they look again: so it is free once they have looked, or are gone.
   *
   * The monitor guards all but the copies, which are ordered by who owns a state.
   */
  private static final System.Logger LOG = System.getLogger(CudaStates.class.getName());

  private final CudaContext context;
  private final VirtualMemory memory;
  private final long pageBytes;
  private final int count;
  private final long address;
  private final CudaStream stream;
  private final StateTable table;
  private final FreeList blocks = new FreeList();
  private final int[] users;
  private final long[] handles;
  private int latestNumber;
  private final AtomicInteger pages = new AtomicInteger();

  CudaStates(CudaContext context, VirtualMemory memory) {
    this.context = context;
    this.memory = memory;
    this.pageBytes = memory.granularity();
    this.count = Math.toIntExact(context.totalBytes() / pageBytes);
    this.users = new int[count];
    this.handles = new long[count];
    try (Releases undo = new Releases()) {
      table = undo.add(StateTable.create(count));
      stream = undo.add(CudaStream.open(context));
      address = memory.reserve(addressBytes(), pageBytes);
      undo.keep();
    }
    blocks.resize(addressBytes());
  }

  private long addressBytes() {
    return count * pageBytes;
  }

  /** Pages that there are addresses for. */
  public int count() {
    return count;
  }

  public StateTable table() {
    return table;
  }

  /** Device memory that is taken at present. */
  long byteSize() {
    return pages.get() * pageBytes;
  }

  @Override
  public boolean areOnDevice() {
    return true;
  }

  @Override
  public State take(long bytes) {
    long offset = place(bytes);
    State state = new Block(offset, bytes);
    try {
      if (bytes > 0) {
        context.bind();
        stream.fill(address + offset, (byte) 0, bytes);
        stream.synchronize();
      }
      return state;
    } catch (CudaException e) {
      state.close();
      throw failure(e);
    }
  }

  private synchronized long place(long bytes) {
    long offset = blocks.allocate(bytes);
    if (offset < 0) {
      throw noMemory(bytes);
    }
    try {
      use(firstPage(offset), endPage(offset, bytes));
      return offset;
    } catch (CudaException e) {
      blocks.free(offset);
      throw e.isOutOfMemory() ? noMemory(bytes) : failure(e);
    }
  }

  private static StatusException noMemory(long bytes) {
    return new StatusException(
        Status.INSUFFICIENT_MEMORY,
        "the device has no %s for a state; lower what is configured for it"
            .formatted(new ByteSize(bytes)));
  }

  private static StatusException failure(CudaException e) {
    return new StatusException(
        Status.DEVICE_FAILURE, "a state on the device: " + e.getMessage(), e);
  }

  private int firstPage(long offset) {
    return (int) (offset / pageBytes);
  }

  private int endPage(long offset, long bytes) {
    return (int) Math.ceilDiv(offset + FreeList.rounded(bytes), pageBytes);
  }

  private void use(int first, int end) {
    int page = first;
    try {
      for (; page < end; page++) {
        if (users[page] == 0) {
          create(page);
        }
        users[page]++;
      }
    } catch (RuntimeException e) {
      leave(first, page);
      throw e;
    }
  }

  private void create(int page) {
    long handle = memory.create(pageBytes);
    long at = address + page * pageBytes;
    try {
      memory.map(at, pageBytes, handle);
      try {
        memory.allowAccess(at, pageBytes);
      } catch (RuntimeException e) {
        memory.unmap(at, pageBytes);
        throw e;
      }
    } catch (RuntimeException e) {
      memory.release(handle);
      throw e;
    }
    handles[page] = handle;
    pages.incrementAndGet();
    table.set(page, ++latestNumber);
  }

  private void leave(int first, int end) {
    try (Releases left = new Releases()) { // In reverse order.
      for (int page = end - 1; page >= first; page--) {
        users[page]--;
        if (users[page] == 0) {
          left.add(page, this::letGo);
        }
      }
    }
  }

  private void letGo(int page) {
    table.set(page, 0);
    memory.unmap(address + page * pageBytes, pageBytes);
    memory.release(handles[page]);
    handles[page] = 0;
    pages.decrementAndGet();
  }

  private synchronized void giveBack(long offset, long bytes) {
    blocks.free(offset);
    try {
      leave(firstPage(offset), endPage(offset, bytes));
    } catch (CudaException e) { // The device is lost, and whoever gives back can do nothing.
      LOG.log(Level.WARNING, "a state's memory was not given back", e);
    }
  }

  /**
   * Makes a file descriptor of what lies at a page.
   *
   * @return the caller's to close
   * @throws IllegalArgumentException when nothing does
   */
  synchronized int export(int page) {
    if (page < 0 || page >= count || handles[page] == 0) {
      throw new IllegalArgumentException("no state lies on page " + page);
    }
    return memory.export(handles[page]);
  }

  /** Whether all of some memory is of this. */
  boolean contains(MemorySegment segment) {
    long offset = segment.address() - address;
    return offset >= 0 && offset < addressBytes() && segment.byteSize() <= addressBytes() - offset;
  }

  @Override
  public OptionalLong offsetOf(MemorySegment segment) {
    return contains(segment) ? OptionalLong.of(segment.address() - address) : OptionalLong.empty();
  }

  /** Gives everything back; no run is under way. */
  @Override
  public synchronized void close() {
    try (Releases all = new Releases()) { // In reverse order.
      all.add(table);
      all.add(address, from -> memory.free(from, addressBytes()));
      for (int page = count - 1; page >= 0; page--) {
        if (handles[page] != 0) {
          all.add(page, this::letGo);
        }
      }
      all.add(stream);
    }
  }

  /** One state. */
  private final class Block implements State {
    private final long offset;
    private final MemorySegment segment;
    private boolean closed;

    Block(long offset, long bytes) {
      this.offset = offset;
      this.segment = DeviceSegment.of(address + offset, bytes);
    }

    @Override
    public MemorySegment memory() {
      return segment;
    }

    @Override
    public void read(MemorySegment host) {
      copy(host, () -> stream.copyToHost(host.address(), address + offset, host.byteSize()));
    }

    @Override
    public void write(MemorySegment host) {
      copy(host, () -> stream.copyToDevice(address + offset, host.address(), host.byteSize()));
    }

    private void copy(MemorySegment host, Runnable enqueue) {
      if (!host.isNative() || host.byteSize() != segment.byteSize()) {
        throw new IllegalArgumentException(
            "%d bytes of host memory for a state of %d"
                .formatted(host.byteSize(), segment.byteSize()));
      }
      if (host.byteSize() == 0) {
        return;
      }
      try {
        context.bind();
        enqueue.run();
        stream.synchronize();
      } catch (CudaException e) {
        throw failure(e);
      }
    }

    @Override
    public void close() {
      if (!closed) {
        closed = true;
        giveBack(offset, segment.byteSize());
      }
    }
  }
}
