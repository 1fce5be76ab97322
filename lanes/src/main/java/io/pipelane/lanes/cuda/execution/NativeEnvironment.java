package io.pipelane.lanes.cuda.execution;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;

/** The process's environment as native libraries see it; Java's own view of it never changes. */
final class NativeEnvironment {
  private NativeEnvironment() {}

  /**
   * Sets a variable that is not set; before other threads begin to load libraries, which may read
   * the environment meanwhile.
   */
  static void setIfAbsent(String name, String value) {
    MethodHandle setenv =
        Linker.nativeLinker()
            .downcallHandle(
                Linker.nativeLinker().defaultLookup().findOrThrow("setenv"),
                FunctionDescriptor.of(JAVA_INT, ADDRESS, ADDRESS, JAVA_INT));
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment key = arena.allocateFrom(name);
      int result = (int) setenv.invokeExact(key, arena.allocateFrom(value), 0);
      if (result != 0) {
        throw new IllegalStateException("the environment variable " + name + " cannot be set");
      }
    } catch (RuntimeException | Error e) {
      throw e;
    } catch (Throwable e) {
      throw new LinkageError("setenv", e);
    }
  }
}
