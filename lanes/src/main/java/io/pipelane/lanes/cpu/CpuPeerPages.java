package io.pipelane.lanes.cpu;

import io.pipelane.lanes.PagePool.Page;
import io.pipelane.lanes.PeerPages;
import io.pipelane.lanes.PeerSource;
import io.pipelane.modelstore.WeightSource;
import java.lang.foreign.MemorySegment;
import java.util.List;

/** Pages of another device of the processor, which are memory like any other. */
record CpuPeerPages(CpuPagePool pool) implements PeerPages {
  @Override
  public WeightSource weights(List<Page> pages, long bytes, Runnable whenClosed) {
    return new Weights(pool, pages, bytes, whenClosed);
  }

  /** Weights in pages of the processor, read without any link's rate. */
  static final class Weights extends PeerSource {
    private final CpuPagePool pool;

    private Weights(CpuPagePool pool, List<Page> pages, long bytes, Runnable whenClosed) {
      super(pages, pool.lent().pageBytes(), bytes, whenClosed);
      this.pool = pool;
    }

    @Override
    public void read(long offset, MemorySegment destination) {
      each(
          offset,
          destination.byteSize(),
          (at, page, inPage, bytes) ->
              MemorySegment.copy(pool.content(page), inPage, destination, at, bytes));
    }
  }
}
