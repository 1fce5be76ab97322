package io.pipelane.lanes.cuda.worker;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.pipelane.config.StatusException;
import io.pipelane.lanes.cpu.SharedMemory;
import io.pipelane.modelstore.host.HostMemory.Shared;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.HashSet;
import java.util.Set;
import org.junit.jupiter.api.Test;

/** This process is server and worker at once. */
class WorkerTablesTest {
  private static final long BYTES = 10_000;

  private final Set<Long> pinned = new HashSet<>();
  private final WorkerTables tables =
      new WorkerTables(
          ProcessHandle.current().pid(),
          memory -> {
            pinned.add(memory.address());
            return () -> pinned.remove(memory.address());
          });

  private static SharedMemory memory(int content) {
    SharedMemory memory = SharedMemory.allocate("table", BYTES);
    memory.segment().fill((byte) content);
    return memory;
  }

  private static byte at(long address) {
    return MemorySegment.ofAddress(address).reinterpret(BYTES).get(ValueLayout.JAVA_BYTE, 9_999);
  }

  @Test
  void address_isOpenedOnceAndPinned() {
    try (SharedMemory memory = memory(5)) {
      Shared shared = new Shared(1, memory.descriptor());
      long address = tables.address(shared, BYTES);
      assertNotEquals(memory.segment().address(), address);
      assertEquals(5, at(address));
      assertEquals(address, tables.address(shared, BYTES));
      assertEquals(Set.of(address), pinned);
      tables.tidy();
      assertEquals(1, tables.count(), "the server has it still");
    }
    tables.tidy();
    assertEquals(0, tables.count());
    assertEquals(Set.of(), pinned);
  }

  @Test
  void address_ofOtherMemoryUnderTheSameDescriptor_isTheOther() {
    int descriptor;
    try (SharedMemory former = memory(1)) {
      descriptor = former.descriptor();
      assertEquals(1, at(tables.address(new Shared(1, descriptor), BYTES)));
    }
    try (SharedMemory next = memory(2)) {
      assertEquals(
          descriptor, next.descriptor(), "the lowest that is free, as the system gives it");
      assertEquals(2, at(tables.address(new Shared(2, descriptor), BYTES)));
      assertEquals(1, tables.count(), "what is opened anew has the former let go");
      tables.tidy();
      assertEquals(1, tables.count());
      assertEquals(2, at(tables.address(new Shared(2, descriptor), BYTES)));
    }
    tables.tidy();
    assertEquals(0, tables.count());
  }

  @Test
  void address_ofMemoryThatIsClosed_fails() {
    Shared gone;
    try (SharedMemory memory = memory(1)) {
      gone = new Shared(1, memory.descriptor());
    }
    assertThrows(StatusException.class, () -> tables.address(gone, BYTES));
    assertEquals(0, tables.count());
  }

  @Test
  void address_cannotBePinned_failsAndIsTriedAgain() {
    WorkerTables failing =
        new WorkerTables(
            ProcessHandle.current().pid(),
            memory -> {
              throw new IllegalStateException("no more memory may be locked");
            });
    try (SharedMemory memory = memory(1)) {
      Shared shared = new Shared(1, memory.descriptor());
      for (int i = 0; i < 2; i++) {
        assertThrows(IllegalStateException.class, () -> failing.address(shared, BYTES));
        assertEquals(0, failing.count());
      }
    }
  }
}
