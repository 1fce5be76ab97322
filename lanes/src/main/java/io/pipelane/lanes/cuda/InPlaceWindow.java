package io.pipelane.lanes.cuda;

import io.pipelane.lanes.cpu.PublishedSlots;
import io.pipelane.modelstore.host.HostMemory;
import java.lang.foreign.MemorySegment;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * The host memory that the variant in a range reads in place: pinned, so that the device reads it
 * at its own addresses. Where there is a copy in device memory, that is read instead. Shown and
 * hidden by one thread at a time; runs ask from others.
 */
final class InPlaceWindow {
  /*
   * A GPU's view of pinned memory cannot be moved: pinning 100 MB anew under fixed addresses takes
   * twice as long as copying them to the device. So the address changes with the variant. Sessions
   * bind what they find here before each run, and captures are good for one address.
   *
   * What runs are told is one field, here and where workers look: pages are shown while others run.
   */
  private static final long NOTHING = 0;

  private final long byteSize;
  private final Predicate<MemorySegment> isPinned;
  private final @Nullable PublishedSlots published;
  private volatile long address = NOTHING;
  private volatile long pages = NOTHING;

  /**
   * Shows nothing yet.
   *
   * @param byteSize what it will show; 0 for a range without a window
   * @param isPinned whether the device can read memory
   * @param published where workers look up what is shown; null where sessions run here
   */
  InPlaceWindow(
      long byteSize, Predicate<MemorySegment> isPinned, @Nullable PublishedSlots published) {
    this.byteSize = byteSize;
    this.isPinned = isPinned;
    this.published = published;
  }

  /** See {@link io.pipelane.lanes.AddressRange#show}. */
  void show(HostMemory.Loaded held) {
    requireWindow();
    MemorySegment memory = held.memory();
    if (memory.byteSize() != byteSize) {
      throw new IllegalArgumentException(
          "a window of %d bytes cannot show %d".formatted(byteSize, memory.byteSize()));
    }
    if (!isPinned.test(memory)) {
      throw new IllegalArgumentException(
          "a GPU reads no memory in place that is not pinned; load it with CudaHostMemory");
    }
    hidePages();
    if (published != null) {
      published.show(
          held.shared()
              .orElseThrow(
                  () -> new IllegalArgumentException("worker processes cannot open this memory")));
    }
    address = memory.address();
  }

  void hide() {
    hidePages();
    if (published != null) {
      published.hide();
    }
    address = NOTHING;
  }

  /**
   * See {@link io.pipelane.lanes.AddressRange#showPages}.
   *
   * @param copy where it begins
   * @param copyBytes from there on
   * @param copySlots where workers look up what lies there; null where sessions run here
   */
  void showPages(long copy, long copyBytes, @Nullable PublishedSlots copySlots) {
    requireWindow();
    if (address == NOTHING) {
      throw new IllegalStateException("the range shows nothing that pages are a copy of");
    }
    if (copyBytes < byteSize) {
      throw new IllegalArgumentException(
          "pages of %d bytes are no copy of %d".formatted(copyBytes, byteSize));
    }
    if (published != null && copySlots != null) {
      published.showPages(copySlots);
    }
    pages = copy;
  }

  void hidePages() {
    requireWindow();
    if (published != null) {
      published.hidePages();
    }
    pages = NOTHING;
  }

  /** Where what runs read begins. */
  long address() {
    requireWindow();
    long copy = pages;
    long shown = copy == NOTHING ? address : copy;
    if (shown == NOTHING) {
      throw new IllegalStateException("the range shows nothing to read in place");
    }
    return shown;
  }

  private void requireWindow() {
    if (byteSize == 0) {
      throw new UnsupportedOperationException("the address range has no window");
    }
  }
}
