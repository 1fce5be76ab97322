package io.pipelane.lanes.cuda.worker;

import io.pipelane.lanes.Releases;
import io.pipelane.lanes.cuda.driver.CudaContext;
import io.pipelane.lanes.cuda.driver.CudaStream;
import io.pipelane.lanes.cuda.driver.VirtualMemory;

/** Device memory of this process's own that is zero; it may be mapped in many places at once. */
final class BlankPage implements AutoCloseable {
  private final VirtualMemory memory;
  private final long handle;

  private BlankPage(VirtualMemory memory, long handle) {
    this.memory = memory;
    this.handle = handle;
  }

  /** Takes memory and zeroes it, in some tenths of a millisecond. */
  static BlankPage take(CudaContext context, VirtualMemory memory, long bytes) {
    BlankPage page = new BlankPage(memory, memory.create(bytes));
    try {
      page.zero(context, bytes);
      return page;
    } catch (RuntimeException e) {
      page.close();
      throw e;
    }
  }

  private void zero(CudaContext context, long bytes) {
    try (Releases releases = new Releases()) {
      long address = memory.reserve(bytes, bytes);
      releases.add(address, at -> memory.free(at, bytes));
      memory.map(address, bytes, handle);
      releases.add(address, at -> memory.unmap(at, bytes));
      memory.allowAccess(address, bytes);
      CudaStream stream = releases.add(CudaStream.open(context));
      stream.fill(address, (byte) 0, bytes);
      stream.synchronize();
    }
  }

  long handle() {
    return handle;
  }

  /** Gives the memory back; it is mapped nowhere. */
  @Override
  public void close() {
    memory.release(handle);
  }
}
