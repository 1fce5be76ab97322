package io.pipelane.lanes.cpu;

import io.pipelane.lanes.allocation.BlockRegion;
import java.util.function.Consumer;

/** Reserved addresses with private memory that the kernel gives as it is touched. */
final class CpuEphemeralRegion extends BlockRegion {
  /** Huge pages are asked for only where they lie below the limit, so that none exceeds it. */
  private final Reservation reservation;

  private final long reservedBytes;
  private final Consumer<CpuEphemeralRegion> onClose;

  CpuEphemeralRegion(long maximumBytes, Consumer<CpuEphemeralRegion> onClose) {
    super(maximumBytes);
    this.onClose = onClose;
    this.reservedBytes = LibC.wholePages(maximumBytes);
    this.reservation = Reservation.of(reservedBytes, LibC.HUGE_PAGE_BYTES);
    try {
      LibC.mapMemoryAt(address(), reservedBytes);
    } catch (RuntimeException e) {
      reservation.close();
      throw e;
    }
  }

  @Override
  public long address() {
    return reservation.address();
  }

  @Override
  protected void grow(long oldBytes, long newBytes) {
    adviseHugePages(newBytes);
  }

  @Override
  protected void shrink(long oldBytes, long newBytes) {
    long kept = LibC.wholePages(newBytes);
    if (kept < LibC.wholePages(oldBytes)) {
      LibC.madvise(address() + kept, LibC.wholePages(oldBytes) - kept, LibC.ADVICE_DONTNEED);
    }
    adviseHugePages(newBytes);
  }

  @Override
  protected void release() {
    reservation.close();
    onClose.accept(this);
  }

  private void adviseHugePages(long limitBytes) {
    long huge = limitBytes & -LibC.HUGE_PAGE_BYTES;
    if (huge > 0) {
      LibC.madvise(address(), huge, LibC.ADVICE_HUGEPAGE);
    }
    if (huge < reservedBytes) {
      LibC.madvise(address() + huge, reservedBytes - huge, LibC.ADVICE_NOHUGEPAGE);
    }
  }
}
