package io.pipelane.lanes.cpu;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.config.Bandwidth;
import io.pipelane.config.ByteSize;
import io.pipelane.lanes.AddressRange;
import io.pipelane.lanes.BorrowedLinkContract;
import io.pipelane.lanes.BytesSource;
import io.pipelane.lanes.Device;
import io.pipelane.modelstore.WeightSource;
import java.lang.foreign.ValueLayout;
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

  @Test
  void linkWithoutARate_isNotBorrowed() {
    try (Device fast = CpuDevice.open("cpu:2", PAGE, PAGE, Bandwidth.UNLIMITED)) {
      assertFalse(receiver.borrowLink(fast));
      assertTrue(fast.readsPagesOf(receiver).isEmpty(), "the host is as near");
    }
  }
}
