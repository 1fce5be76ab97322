package io.pipelane.lanes.cuda;

import io.pipelane.lanes.PagePool.Page;
import io.pipelane.lanes.PeerPages;
import io.pipelane.lanes.PeerSource;
import io.pipelane.lanes.cuda.driver.VirtualMemory;
import io.pipelane.modelstore.WeightSource;
import java.lang.foreign.MemorySegment;
import java.util.List;

/**
 * Another GPU's pages at addresses that one GPU can read, each mapped there when it is first read
 * and for good. Sources are made by any thread and read by the copy thread alone.
 */
final class CudaPeerPages implements PeerPages, AutoCloseable {
  /*
   * A page lies under slots of its own device's ranges as well. Here it lies at its place in that
   * device's memory, so a variant that is mounted nowhere can be read, too. What the driver has
   * mapped keeps the memory, also when the lender gives its handles back first.
   */
  private final VirtualMemory memory;
  private final CudaPagePool pool;
  private final long pageBytes;
  private final long byteSize;
  private final long address;
  private final SlotMappings mappings;

  /**
   * Reserves addresses.
   *
   * @param memory of the device that reads
   * @param pool of the one that is read
   */
  CudaPeerPages(VirtualMemory memory, CudaPagePool pool) {
    this.memory = memory;
    this.pool = pool;
    this.pageBytes = pool.lent().pageBytes();
    this.byteSize = pool.byteSize();
    this.address = memory.reserve(byteSize, pageBytes);
    this.mappings = SlotMappings.forReading(memory.forReading(), address, pageBytes, pool.count());
  }

  @Override
  public WeightSource weights(List<Page> pages, long bytes, Runnable whenClosed) {
    return new Weights(pages, pageBytes, bytes, whenClosed, this);
  }

  private synchronized long addressOf(Page page) {
    int slot = page.index();
    mappings.plan(slot, pool.handle(page));
    mappings.settle(slot, slot + 1);
    return address + slot * pageBytes;
  }

  /** Gives the addresses back; nothing reads there any more. */
  @Override
  public synchronized void close() {
    mappings.clear();
    memory.free(address, byteSize);
  }

  /** Weights that the copy thread finds by address. */
  static final class Weights extends PeerSource {
    private final CudaPeerPages there;

    private Weights(
        List<Page> pages, long pageBytes, long bytes, Runnable whenClosed, CudaPeerPages there) {
      super(pages, pageBytes, bytes, whenClosed);
      this.there = there;
    }

    /** A receiver of stretches by the device's own addresses. */
    interface Addressed {
      void at(long at, long address, long bytes);
    }

    void eachAddress(long offset, long count, Addressed addressed) {
      each(
          offset,
          count,
          (at, page, inPage, bytes) -> addressed.at(at, there.addressOf(page) + inPage, bytes));
    }

    @Override
    public void read(long offset, MemorySegment destination) {
      throw new UnsupportedOperationException("another device's pages are read by the device");
    }
  }
}
