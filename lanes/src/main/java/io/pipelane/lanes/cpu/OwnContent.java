package io.pipelane.lanes.cpu;

import io.pipelane.lanes.DeviceEvent;
import io.pipelane.lanes.PagePool.Page;
import io.pipelane.lanes.completion.Completion;
import io.pipelane.lanes.cpu.CpuPagePool.Shown;
import org.jspecify.annotations.Nullable;

/**
 * What a page shows on its way into the page's own memory, piece by piece. Made on any thread while
 * the page shows it; one thread carries it on, the copy thread where nobody waits for it.
 */
final class OwnContent {
  /** Some ten microseconds: what wants the page or the thread waits for no more. */
  private static final long PIECE_BYTES = 256 << 10;

  private final CpuPagePool pages;
  private final Page page;
  private final Shown part;
  private final Runnable whenOwned;
  private final Completion event = new Completion();
  private long done;

  /**
   * Nothing has been copied yet.
   *
   * @param whenOwned has the page be seen where it is mapped
   */
  OwnContent(CpuPagePool pages, Page page, Shown part, Runnable whenOwned) {
    this.pages = pages;
    this.page = page;
    this.part = part;
    this.whenOwned = whenOwned;
    part.file().use();
  }

  /** Happens when it has ended, whatever has become of it. */
  DeviceEvent event() {
    return event;
  }

  /** It is not carried on any more. */
  void end(@Nullable Throwable failure) {
    part.file().leave();
    event.complete(failure);
  }

  /** Copies all of it at once; the page shows the part no more once this returns. */
  void carryOut() {
    boolean goesOn = true;
    try {
      while (goesOn) {
        goesOn = carryOn();
      }
    } catch (RuntimeException | Error e) {
      end(e);
      throw e;
    }
    end(null);
  }

  /**
   * Copies one piece.
   *
   * @return false when that was the last, or the page shows the part no more
   */
  boolean carryOn() {
    long piece = Math.min(PIECE_BYTES, pages.lent().pageBytes() - done);
    boolean goesOn = done > 0 || pages.populateWhile(page, part);
    goesOn = goesOn && pages.copyWhile(page, part, done, piece);
    done += piece;
    if (goesOn && done == pages.lent().pageBytes()) {
      if (pages.showNothing(page, part)) {
        whenOwned.run();
      }
      return false;
    }
    return goesOn;
  }
}
