package io.pipelane.bench.density;

import io.pipelane.lanes.AddressRange;
import io.pipelane.lanes.Device;
import io.pipelane.lanes.PagePool.Page;
import io.pipelane.lanes.completion.ThreadEnd;
import io.pipelane.modelstore.WeightSource;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import org.jspecify.annotations.Nullable;

/**
 * Copies of one page after another to a device, as pages come that are fetched ahead: each is
 * mapped, copied and awaited before the next. Belongs to one thread; the copies have one of their
 * own.
 */
final class PageCopies implements AutoCloseable {
  private final Device device;
  private final WeightSource weights;
  private final long pageBytes;
  private final Page page;
  private final AddressRange range;
  private final List<Copy> copies = new ArrayList<>();
  private long next; // The copying thread's while there is one.
  private @Nullable Thread thread;
  private volatile boolean ends;

  /** A page's copy, by {@link System#nanoTime}; the next one begins with its end. */
  record Copy(long beginNanos, long endNanos) {
    long nanos() {
      return endNanos - beginNanos;
    }
  }

  /**
   * Copies nothing yet.
   *
   * @param weights of more than a page, as runs have theirs
   */
  PageCopies(Device device, WeightSource weights) {
    this.device = device;
    this.weights = weights;
    pageBytes = device.pages().pageBytes();
    page =
        device
            .pages()
            .take()
            .orElseThrow(() -> new IllegalStateException("no page is free beside the model's"));
    range = device.reserve(pageBytes);
  }

  /** Begins; returns when the first page has come. */
  void begin() {
    CountDownLatch come = new CountDownLatch(1);
    ends = false;
    copies.clear();
    Thread copying = Thread.ofPlatform().name("page-copies").unstarted(() -> copyAll(come));
    thread = copying;
    copying.start();
    try {
      come.await();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IllegalStateException("interrupted while a page is copied", e);
    }
  }

  /** Copies so many pages; returns when they have come. */
  List<Copy> some(int count) {
    List<Copy> come = new ArrayList<>();
    for (int i = 0; i < count; i++) {
      come.add(copyNext());
    }
    return come;
  }

  private void copyAll(CountDownLatch come) {
    try {
      while (!ends) {
        copies.add(copyNext());
        come.countDown();
      }
    } finally {
      come.countDown();
    }
  }

  private Copy copyNext() {
    long offset = next + pageBytes <= weights.byteSize() ? next : 0;
    next = offset + pageBytes;
    long begin = System.nanoTime();
    range.map(0, page);
    try {
      device.copies().copy(weights, offset, range, 0, pageBytes).await();
    } finally {
      range.unmap(0);
    }
    return new Copy(begin, System.nanoTime());
  }

  /** Ends with the page that is under way; what was copied since the begin. */
  List<Copy> end() {
    ends = true;
    Thread copying = thread;
    if (copying != null) {
      ThreadEnd.await(copying);
      thread = null;
    }
    return List.copyOf(copies);
  }

  @Override
  public void close() {
    List<Copy> _ = end();
    range.close();
    device.pages().giveBack(page);
  }
}
