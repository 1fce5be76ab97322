package io.pipelane.runtime;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import org.junit.jupiter.api.Test;

class NativeFunctionTest {
  private static final int PAGE_BYTES = 4096;
  private static final int READ_WRITE = 3;
  private static final int READ_EXECUTE = 5;
  private static final int PRIVATE_ANONYMOUS = 0x22;
  private static final byte[] ANSWER_AL = {0x0F, (byte) 0xB6, (byte) 0xC0, (byte) 0xC3};

  @Test
  void call_narrowResult_isItsOwnPart() {
    try (Arena arena = Arena.ofConfined()) {
      long text = arena.allocateFrom("-7").address();
      assertEquals(-7, (int) NativeFunction.of("atoi").call(text, -1, -1));
    }
  }

  /** The ABI of x86-64 has the caller of a variadic function say so. */
  @Test
  void call_saysThatNoVectorRegisterHasAnArgument() {
    assumeTrue(System.getProperty("os.arch").equals("amd64"));
    NativeFunction map = NativeFunction.of("mmap");
    long address = map.call(0, PAGE_BYTES, READ_WRITE, PRIVATE_ANONYMOUS, -1, 0, 0);
    MemorySegment page = MemorySegment.ofAddress(address).reinterpret(PAGE_BYTES);
    MemorySegment.copy(MemorySegment.ofArray(ANSWER_AL), 0, page, 0, ANSWER_AL.length);
    NativeFunction protect = NativeFunction.of("mprotect");
    assumeTrue((int) protect.call(address, PAGE_BYTES, READ_EXECUTE) == 0);
    NativeFunction answersAl = new NativeFunction(page);
    try (Arena arena = Arena.ofConfined()) {
      CallError error = new CallError(arena);
      for (long i = -1; i < 3; i++) {
        assertEquals(0, answersAl.call(i, i, i));
        assertEquals(0, answersAl.call(error, i, i, i));
      }
    }
    assertEquals(0, (int) NativeFunction.of("munmap").call(address, PAGE_BYTES, 0));
  }
}
