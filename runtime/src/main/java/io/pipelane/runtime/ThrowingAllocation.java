package io.pipelane.runtime;

import java.lang.System.Logger.Level;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/**
 * The maker of an allocation function that throws C++'s {@code std::bad_alloc} where another
 * answers NULL.
 */
final class ThrowingAllocation {
  /*
   * Most kernels of ONNX Runtime write to what an allocator answers without a look at it, so NULL
   * ends the process; its own arena throws, and a throw becomes a clean error. Java cannot throw
   * through C++, but a few instructions can: they call the Java function, return what it answers,
   * and for NULL jump (not call: no frame of theirs is left to unwind) to the library's function
   * that throws. The stack then looks as if ONNX Runtime had called that one itself.
   */
  private static final System.Logger LOG = System.getLogger(ThrowingAllocation.class.getName());
  private static final String THROW_BAD_ALLOC = "_ZSt17__throw_bad_allocv";
  private static final long PAGE_BYTES = 4096;
  private static final int READ_WRITE = 3;
  private static final int READ_EXECUTE = 5;
  private static final int PRIVATE_ANONYMOUS = 0x22;

  private ThrowingAllocation() {}

  /**
   * Wraps {@code void* allocate(self, bytes)}; elsewhere than on x86-64 Linux, or where the system
   * forbids it, answers the function itself.
   *
   * @param arena whose end is the function's
   */
  static MemorySegment of(MemorySegment allocate, Arena arena) {
    if (!System.getProperty("os.name").equals("Linux")
        || !System.getProperty("os.arch").equals("amd64")) {
      return allocate;
    }
    try {
      SymbolLookup library = SymbolLookup.libraryLookup("libstdc++.so.6", Arena.global());
      return executable(code(allocate, library.findOrThrow(THROW_BAD_ALLOC)), arena);
    } catch (RuntimeException e) {
      LOG.log(Level.WARNING, "a full allocator will end the process: " + e.getMessage());
      return allocate;
    }
  }

  private static byte[] code(MemorySegment allocate, MemorySegment fail) {
    return ByteBuffer.allocate(38)
        .order(ByteOrder.LITTLE_ENDIAN)
        .put(new byte[] {0x48, (byte) 0x83, (byte) 0xEC, 0x08}) // sub rsp, 8
        .put(new byte[] {0x48, (byte) 0xB8}) // mov rax, allocate
        .putLong(allocate.address())
        .put(new byte[] {(byte) 0xFF, (byte) 0xD0}) // call rax
        .put(new byte[] {0x48, (byte) 0x83, (byte) 0xC4, 0x08}) // add rsp, 8
        .put(new byte[] {0x48, (byte) 0x85, (byte) 0xC0}) // test rax, rax
        .put(new byte[] {0x74, 0x01}) // jz over the next
        .put(new byte[] {(byte) 0xC3}) // ret
        .put(new byte[] {0x48, (byte) 0xB8}) // mov rax, fail
        .putLong(fail.address())
        .put(new byte[] {(byte) 0xFF, (byte) 0xE0}) // jmp rax
        .array();
  }

  private static MemorySegment executable(byte[] code, Arena arena) {
    NativeFunction map = NativeFunction.of("mmap");
    NativeFunction protect = NativeFunction.of("mprotect");
    NativeFunction unmap = NativeFunction.of("munmap");
    long address = map.call(0, PAGE_BYTES, READ_WRITE, PRIVATE_ANONYMOUS, -1, 0, 0);
    if (address == -1) {
      throw new IllegalStateException("mmap failed");
    }
    MemorySegment page =
        MemorySegment.ofAddress(address).reinterpret(PAGE_BYTES, arena, p -> end(unmap, p));
    MemorySegment.copy(MemorySegment.ofArray(code), 0, page, 0, code.length);
    if ((int) protect.call(address, PAGE_BYTES, READ_EXECUTE) != 0) {
      throw new IllegalStateException("the system refuses to make memory executable");
    }
    return page;
  }

  private static void end(NativeFunction unmap, MemorySegment page) {
    int result = (int) unmap.call(page.address(), PAGE_BYTES, 0);
    assert result == 0;
  }
}
