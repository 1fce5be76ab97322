package io.pipelane.lanes;

import io.pipelane.lanes.PagePool.Page;
import io.pipelane.modelstore.WeightSource;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;

/** Weights in pages of another device, looked up page by page. */
public abstract class PeerSource implements WeightSource {
  private final List<Page> pages;
  private final long pageBytes;
  private final long bytes;
  private final Runnable whenClosed;
  private final AtomicBoolean closed = new AtomicBoolean();

  /**
   * Weights in pages.
   *
   * @param pages as {@link PeerPages#weights} has them, as the other parameters
   */
  protected PeerSource(List<Page> pages, long pageBytes, long bytes, Runnable whenClosed) {
    if (bytes > pages.size() * pageBytes) {
      throw new IllegalArgumentException(
          "%d pages of %d bytes cannot hold %d".formatted(pages.size(), pageBytes, bytes));
    }
    this.pages = List.copyOf(pages);
    this.pageBytes = pageBytes;
    this.bytes = bytes;
    this.whenClosed = whenClosed;
  }

  /** A part of the weights that lies in one page. */
  @FunctionalInterface
  public interface Stretch {
    /**
     * Is told of one.
     *
     * @param at from the beginning of what was asked for
     * @param inPage from the page's beginning
     */
    void at(long at, Page page, long inPage, long stretchBytes);
  }

  /**
   * Goes through the pages that bytes lie in, in their order.
   *
   * @throws IllegalStateException when it is closed
   */
  public final void each(long offset, long count, Stretch stretch) {
    if (closed.get()) {
      throw new IllegalStateException("the other device's pages are not lent any more");
    }
    for (long at = 0; at < count; ) {
      long inPage = (offset + at) % pageBytes;
      long part = Math.min(count - at, pageBytes - inPage);
      stretch.at(at, pages.get((int) ((offset + at) / pageBytes)), inPage, part);
      at += part;
    }
  }

  @Override
  public final long byteSize() {
    return bytes;
  }

  @Override
  public final void close() {
    if (closed.compareAndSet(false, true)) {
      whenClosed.run();
    }
  }
}
