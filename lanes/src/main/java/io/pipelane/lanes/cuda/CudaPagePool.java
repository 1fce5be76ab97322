package io.pipelane.lanes.cuda;

import io.pipelane.lanes.PagePool.Page;
import io.pipelane.lanes.allocation.LentPages;
import io.pipelane.lanes.cuda.driver.VirtualMemory;

/** Pages that are device memory of their own, each with a handle that it is mapped by. */
public final class CudaPagePool implements AutoCloseable {
  private final VirtualMemory memory;
  private final LentPages lent;
  private final long[] handles;

  /** Takes the memory of all pages; takes none when there is not enough. */
  CudaPagePool(VirtualMemory memory, long pageBytes, int total) {
    this.memory = memory;
    this.lent = new LentPages(pageBytes, total);
    this.handles = new long[total];
    try {
      for (int i = 0; i < total; i++) {
        handles[i] = memory.create(pageBytes);
      }
    } catch (RuntimeException e) {
      close();
      throw e;
    }
  }

  public LentPages lent() {
    return lent;
  }

  long byteSize() {
    return handles.length * lent.pageBytes();
  }

  public int count() {
    return handles.length;
  }

  long handle(Page page) {
    return handle(page.index());
  }

  long handle(int page) {
    return handles[page];
  }

  /** Gives the memory back; no page may be mapped any more. */
  @Override
  public void close() {
    for (int i = 0; i < handles.length; i++) {
      if (handles[i] != 0) {
        memory.release(handles[i]);
        handles[i] = 0;
      }
    }
  }
}
