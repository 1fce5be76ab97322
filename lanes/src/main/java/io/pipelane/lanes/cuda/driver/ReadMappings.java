package io.pipelane.lanes.cuda.driver;

/** Mappings for reading; where the driver knows none of those, for writing too. */
final class ReadMappings implements Mappings {
  private final VirtualMemory memory;
  private volatile boolean unknown;

  ReadMappings(VirtualMemory memory) {
    this.memory = memory;
  }

  @Override
  public void map(long address, long bytes, long handle) {
    memory.map(address, bytes, handle);
  }

  @Override
  public void allowAccess(long address, long bytes) {
    if (!unknown) {
      try {
        memory.allowReading(address, bytes);
        return;
      } catch (CudaException e) {
        if (!e.isRefusal()) {
          throw e;
        }
        unknown = true;
      }
    }
    memory.allowAccess(address, bytes);
  }

  @Override
  public void unmap(long address, long bytes) {
    memory.unmap(address, bytes);
  }
}
