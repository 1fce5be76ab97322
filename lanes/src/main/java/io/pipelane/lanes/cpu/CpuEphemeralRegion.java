package io.pipelane.lanes.cpu;

import io.pipelane.lanes.EphemeralRegion;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Consumer;

/** Reserved addresses with private memory that the kernel gives as it is touched. */
final class CpuEphemeralRegion implements EphemeralRegion {
  /** Huge pages are asked for only where they lie below the limit, so that none exceeds it. */
  static final long HUGE_PAGE_BYTES = 2L << 20;

  private final long maximumBytes;
  private final Reservation reservation;
  private final long reservedBytes;
  private final Consumer<CpuEphemeralRegion> onClose;
  private final ReentrantLock lock = new ReentrantLock();
  private final FreeList blocks = new FreeList();
  private long limitBytes;
  private long peakBytes;
  private boolean closed;

  CpuEphemeralRegion(long maximumBytes, Consumer<CpuEphemeralRegion> onClose) {
    this.maximumBytes = maximumBytes;
    this.onClose = onClose;
    this.reservedBytes = roundedUp(maximumBytes);
    this.reservation = Reservation.of(reservedBytes, HUGE_PAGE_BYTES);
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
  public long maximumBytes() {
    return maximumBytes;
  }

  @Override
  public long limitBytes() {
    lock.lock();
    try {
      return limitBytes;
    } finally {
      lock.unlock();
    }
  }

  @Override
  public void limit(long bytes) {
    if (bytes < 0 || bytes > maximumBytes) {
      throw new IllegalArgumentException(
          "a limit of %d bytes is outside [0, %d]".formatted(bytes, maximumBytes));
    }
    lock.lock();
    try {
      requireOpen();
      if (!blocks.resize(bytes)) {
        throw new IllegalArgumentException(
            "a limit of %d bytes is below the end of what is in use, %d"
                .formatted(bytes, blocks.highestEnd()));
      }
      long kept = roundedUp(bytes);
      if (kept < roundedUp(limitBytes)) {
        LibC.madvise(address() + kept, roundedUp(limitBytes) - kept, LibC.ADVICE_DONTNEED);
      }
      limitBytes = bytes;
      long huge = bytes & -HUGE_PAGE_BYTES;
      if (huge > 0) {
        LibC.madvise(address(), huge, LibC.ADVICE_HUGEPAGE);
      }
      if (huge < reservedBytes) {
        LibC.madvise(address() + huge, reservedBytes - huge, LibC.ADVICE_NOHUGEPAGE);
      }
    } finally {
      lock.unlock();
    }
  }

  @Override
  public long allocate(long bytes) {
    if (bytes < 0) {
      throw new IllegalArgumentException("cannot allocate " + bytes + " bytes");
    }
    lock.lock();
    try {
      requireOpen();
      long offset = blocks.allocate(bytes);
      peakBytes = Math.max(peakBytes, blocks.highestEnd());
      return offset < 0 ? 0 : address() + offset;
    } finally {
      lock.unlock();
    }
  }

  @Override
  public void free(long address) {
    lock.lock();
    try {
      requireOpen();
      if (!blocks.free(address - address())) {
        throw new IllegalArgumentException(
            "nothing is allocated at 0x" + Long.toHexString(address) + " in this region");
      }
    } finally {
      lock.unlock();
    }
  }

  @Override
  public long usedBytes() {
    lock.lock();
    try {
      return blocks.usedBytes();
    } finally {
      lock.unlock();
    }
  }

  @Override
  public long peakBytes() {
    lock.lock();
    try {
      return peakBytes;
    } finally {
      lock.unlock();
    }
  }

  @Override
  public void resetPeak() {
    lock.lock();
    try {
      peakBytes = blocks.highestEnd();
    } finally {
      lock.unlock();
    }
  }

  @Override
  public void close() {
    lock.lock();
    try {
      if (closed) {
        return;
      }
      reservation.close();
      closed = true;
    } finally {
      lock.unlock();
    }
    onClose.accept(this);
  }

  private void requireOpen() {
    if (closed) {
      throw new IllegalStateException("the region is closed");
    }
  }

  private static long roundedUp(long bytes) {
    return Math.addExact(bytes, LibC.SYSTEM_PAGE_BYTES - 1) & -LibC.SYSTEM_PAGE_BYTES;
  }
}
