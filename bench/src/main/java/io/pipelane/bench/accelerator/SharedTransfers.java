package io.pipelane.bench.accelerator;

import io.pipelane.lanes.allocation.TransferMemory;
import io.pipelane.lanes.cpu.SharedMemory;
import io.pipelane.lanes.cuda.CudaDevice;
import io.pipelane.lanes.cuda.ExecutionSettings;
import io.pipelane.lanes.cuda.PartialLanes;
import io.pipelane.lanes.cuda.driver.CudaContext;
import io.pipelane.lanes.cuda.driver.PinnedHostMemory;
import io.pipelane.lanes.execution.SessionFactory;
import io.pipelane.lanes.process.ProcessSessionFactory;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;

/** Pinned memory for requests that worker processes read in place, and one worker process. */
final class SharedTransfers implements AutoCloseable {
  private static final long BYTES = 256L << 20;
  private static final long ALIGNMENT = 4096;

  private final SharedMemory memory = SharedMemory.allocate("transfers", BYTES);
  private final PinnedHostMemory pinned;
  private long taken;

  SharedTransfers(CudaContext context) {
    pinned = PinnedHostMemory.register(context, memory.segment());
  }

  /** Memory of its own for each caller, while there is some. */
  MemorySegment take(long bytes) {
    MemorySegment segment = memory.segment().asSlice(taken, bytes);
    taken = (taken + bytes + ALIGNMENT - 1) & -ALIGNMENT;
    return segment;
  }

  /** Sessions in one worker, without others that stand by. */
  SessionFactory workers(CudaDevice device, Path library, ExecutionSettings execution) {
    return new ProcessSessionFactory(
        device,
        device.export(execution, PartialLanes.NONE, memory),
        new TransferMemory(memory.segment()),
        OneWorker.settings(library));
  }

  @Override
  public void close() {
    pinned.close();
    memory.close();
  }
}
