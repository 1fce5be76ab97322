package io.pipelane.lanes.cuda.worker;

import io.pipelane.lanes.cpu.SharedMemory;
import io.pipelane.modelstore.host.HostMemory;
import java.lang.foreign.MemorySegment;
import java.util.HashMap;
import java.util.Iterator;
import java.util.Map;
import java.util.function.Function;

/**
 * The host memory of the server that runs of a worker process read in place, opened and pinned here
 * when a run first needs it. Safe for any thread.
 */
final class WorkerTables {
  private static final long SYSTEM_PAGE_BYTES = 4096;

  private final long server;
  private final Function<MemorySegment, AutoCloseable> pinning;
  private final Map<Integer, Table> tables = new HashMap<>();

  /** Memory of the server's. */
  private record Table(SharedMemory memory, AutoCloseable pin, int descriptor) {
    void close() {
      try {
        pin.close();
      } catch (Exception e) {
        throw new IllegalStateException("memory could not be unpinned", e);
      } finally {
        memory.close();
      }
    }
  }

  /**
   * Nothing is open yet.
   *
   * @param server its process
   * @param pinning makes memory readable by the device, until what it answers is closed
   */
  WorkerTables(long server, Function<MemorySegment, AutoCloseable> pinning) {
    this.server = server;
    this.pinning = pinning;
  }

  /**
   * Where memory of the server's lies here; the first time some 3 ms for 100 MB.
   *
   * @param byteSize its size
   * @throws io.pipelane.config.StatusException when the server has it no longer
   */
  synchronized long address(HostMemory.Shared shared, long byteSize) {
    Table known = tables.get(shared.number());
    if (known == null) {
      tidy(); // Other devices may have been the last to hold what this one was told of.
      known = open(shared, byteSize);
      tables.put(shared.number(), known);
    }
    return known.memory().segment().address();
  }

  private Table open(HostMemory.Shared shared, long byteSize) {
    long bytes = Math.ceilDiv(byteSize, SYSTEM_PAGE_BYTES) * SYSTEM_PAGE_BYTES;
    SharedMemory memory = SharedMemory.open(server, shared.descriptor(), bytes);
    try {
      return new Table(memory, pinning.apply(memory.segment()), shared.descriptor());
    } catch (RuntimeException | Error e) {
      memory.close();
      throw e;
    }
  }

  /** Gives back what the server has closed; no run reads that any more. */
  synchronized void tidy() {
    for (Iterator<Table> each = tables.values().iterator(); each.hasNext(); ) {
      Table table = each.next();
      if (!table.memory().isOpenIn(server, table.descriptor())) {
        each.remove();
        table.close();
      }
    }
  }

  /** How many there are. */
  synchronized int count() {
    return tables.size();
  }
}
