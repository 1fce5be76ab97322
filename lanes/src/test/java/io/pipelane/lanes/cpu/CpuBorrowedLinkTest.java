package io.pipelane.lanes.cpu;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.config.value.Bandwidth;
import io.pipelane.config.value.ByteSize;
import io.pipelane.lanes.AddressRange;
import io.pipelane.lanes.BorrowedLinkContract;
import io.pipelane.lanes.BytesSource;
import io.pipelane.lanes.Device;
import io.pipelane.modelstore.WeightSource;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;

class CpuBorrowedLinkTest extends BorrowedLinkContract {
  private static final ByteSize PAGE = new ByteSize(256 << 10);
  private static final Bandwidth LINK = new Bandwidth(2_000_000_000);

  @Override
  protected Device open(int index, int pages) {
    return CpuDevice.open("cpu:" + index, new ByteSize(PAGE.bytes() * pages), PAGE, LINK);
  }

  @Override
  protected WeightSource source(byte[] bytes) {
    return new BytesSource(bytes);
  }

  @Override
  protected byte[] read(Device device, AddressRange range, long offset, int bytes) {
    return range.memory().asSlice(offset, bytes).toArray(ValueLayout.JAVA_BYTE);
  }

  /** Weights that only the thread can read that is the first to do so. */
  private static final class OwnThreadsSource implements WeightSource {
    private final BytesSource bytes;
    private final AtomicLong reader = new AtomicLong();
    final AtomicInteger refused = new AtomicInteger();

    OwnThreadsSource(BytesSource bytes) {
      this.bytes = bytes;
    }

    @Override
    public long byteSize() {
      return bytes.byteSize();
    }

    @Override
    public void read(long offset, MemorySegment destination) {
      long thread = Thread.currentThread().threadId();
      reader.compareAndSet(0, thread);
      if (reader.get() != thread) {
        refused.incrementAndGet();
        throw new IllegalStateException("this device has fallen off the bus");
      }
      bytes.read(offset, destination);
    }

    @Override
    public void close() {}
  }

  @Test
  void lenderThatFailsInMidCopy_leavesItsPieceToTheOwnLink_andIsBorrowedNoMore() {
    AddressRange range = mapped(receiver);
    BytesSource bytes = BytesSource.random(Math.toIntExact(range.byteSize()), 5);
    OwnThreadsSource source = new OwnThreadsSource(bytes);
    receiver.copies().copy(source, 0, range, 0, 1).await();
    while (source.refused.get() == 0) { // The lender's thread may come too late.
      receiver.copies().copy(source, 0, range, 0, source.byteSize()).await();
      assertArrayEquals(
          bytes.bytes(), read(receiver, range, 0, Math.toIntExact(source.byteSize())));
    }
    for (int round = 0; round < 10; round++) {
      receiver.copies().copy(source, 0, range, 0, source.byteSize()).await();
    }
    assertEquals(1, source.refused.get());
    assertEquals(0, receiver.copies().borrowedBytes());
  }

  @Test
  void linkWithoutARate_isNotBorrowed() {
    try (Device fast = CpuDevice.open("cpu:2", PAGE, PAGE, Bandwidth.UNLIMITED)) {
      assertFalse(receiver.borrowLink(fast));
      assertTrue(fast.readsPagesOf(receiver).isEmpty(), "the host is as near");
    }
  }
}
