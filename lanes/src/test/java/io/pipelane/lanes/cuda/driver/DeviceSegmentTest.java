package io.pipelane.lanes.cuda.driver;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import org.junit.jupiter.api.Test;

/** Addresses that nothing lies at in this process. */
class DeviceSegmentTest {
  private static final long ADDRESS = 0x7f12_3456_7800L;

  private final MemorySegment segment = DeviceSegment.of(ADDRESS, 1 << 20);

  @Test
  void addressAndSize_areThoseOfTheDevice() {
    assertTrue(segment.isNative());
    assertEquals(ADDRESS, segment.address());
    assertEquals(1 << 20, segment.byteSize());
    assertEquals(ADDRESS + 4096, segment.asSlice(4096, 10).address());
  }

  @Test
  void access_isRefused() {
    MemorySegment host = MemorySegment.ofArray(new byte[16]);
    MemorySegment part = segment.asSlice(0, 16);
    assertThrows(IllegalStateException.class, () -> segment.get(ValueLayout.JAVA_BYTE, 0));
    assertThrows(IllegalStateException.class, () -> part.copyFrom(host));
    assertThrows(IllegalStateException.class, () -> host.copyFrom(part));
    assertThrows(IllegalStateException.class, () -> part.fill((byte) 0));
    assertThrows(IllegalStateException.class, () -> part.toArray(ValueLayout.JAVA_BYTE));
  }

  @Test
  void access_onAnotherThread_isRefused() throws Exception {
    Thread other =
        Thread.ofPlatform()
            .start(
                () ->
                    assertThrows(
                        RuntimeException.class, () -> segment.set(ValueLayout.JAVA_INT, 0, 1)));
    other.join();
  }
}
