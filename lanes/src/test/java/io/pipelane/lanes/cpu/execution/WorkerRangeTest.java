package io.pipelane.lanes.cpu.execution;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.pipelane.lanes.ExportedSlots;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import org.junit.jupiter.api.Test;

class WorkerRangeTest {
  private static final long PAGE = 64 << 10;
  private static final int NO_FILE = -1;

  /** Another run in the range would compute with what lay there before, and answer. */
  @Test
  void pageThatCannotBeMapped_isMappedForNobody() {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment table = arena.allocate(JAVA_INT, 2);
      table.setAtIndex(JAVA_INT, 0, 1);
      table.setAtIndex(JAVA_INT, 1, 2);
      WorkerRange range = new WorkerRange(NO_FILE, PAGE, table, new ExportedSlots(0, 0, 2));
      range.shared();
      for (int i = 0; i < 2; i++) {
        assertThrows(RuntimeException.class, () -> range.map(0, 2 * PAGE));
      }
      range.unshared();
    }
  }
}
