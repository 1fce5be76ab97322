package io.pipelane.lanes.cuda.execution.recording;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.lanes.cuda.driver.CopyNode;
import io.pipelane.lanes.cuda.driver.CopyNode.MemoryType;
import java.util.List;
import org.junit.jupiter.api.Test;

class HostCopiesTest {
  private static final CopyNode WITHIN = copy(MemoryType.DEVICE, MemoryType.DEVICE, 64, 1);
  private static final CopyNode FROM_HOST = copy(MemoryType.HOST, MemoryType.DEVICE, 256, 1);

  private static CopyNode copy(MemoryType from, MemoryType to, long bytes, long rows) {
    return new CopyNode(1, from, 0x1000, to, 0x2000, bytes, rows);
  }

  @Test
  void toReplace_areTheCopiesFromTheHost() {
    assertEquals(List.of(FROM_HOST), HostCopies.toReplace(List.of(WITHIN, FROM_HOST)));
    assertEquals(List.of(), HostCopies.toReplace(List.of(WITHIN)));
    CopyNode rows = copy(MemoryType.DEVICE, MemoryType.DEVICE, 64, 8);
    assertEquals(List.of(), HostCopies.toReplace(List.of(rows)));
  }

  @Test
  void toReplace_somethingIsBroughtToTheHost_isRefused() {
    assertRefused(copy(MemoryType.DEVICE, MemoryType.HOST, 64, 1));
    assertRefused(copy(MemoryType.DEVICE, MemoryType.ARRAY, 64, 1));
  }

  @Test
  void toReplace_rowsFromTheHost_areRefused() {
    assertRefused(copy(MemoryType.HOST, MemoryType.DEVICE, 64, 8));
  }

  @Test
  void toReplace_tooMuch_isRefusedWithBothNumbers() {
    CopyNode half = copy(MemoryType.HOST, MemoryType.DEVICE, HostCopies.MAXIMUM_BYTES / 2 + 1, 1);
    assertEquals(List.of(half), HostCopies.toReplace(List.of(half)));
    String message = assertRefused(half, half);
    assertTrue(message.contains(Long.toString(HostCopies.MAXIMUM_BYTES)), message);
    assertTrue(message.contains(Long.toString(HostCopies.MAXIMUM_BYTES + 2)), message);
  }

  private static String assertRefused(CopyNode... copies) {
    StatusException error =
        assertThrows(StatusException.class, () -> HostCopies.toReplace(List.of(copies)));
    assertEquals(Status.UNIMPLEMENTED, error.status());
    return String.valueOf(error.getMessage());
  }
}
