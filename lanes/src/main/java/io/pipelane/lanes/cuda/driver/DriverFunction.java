package io.pipelane.lanes.cuda.driver;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.SymbolLookup;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.util.Arrays;
import java.util.Collections;
import java.util.NoSuchElementException;

/**
 * A function of CUDA's driver that JCuda does not offer, or not rightly. Safe for any thread.
 *
 * <p>Every argument is passed as 8 bytes; on x86-64 a function finds a narrower one in the lower
 * part of its register.
 */
final class DriverFunction {
  private static final int MAXIMUM_ARGUMENTS = 5;

  private final String name;
  private final int arguments;
  private final MethodHandle handle;

  private DriverFunction(String name, int arguments, MethodHandle handle) {
    this.name = name;
    this.arguments = arguments;
    this.handle = handle;
  }

  /**
   * Finds a function.
   *
   * @throws NoSuchElementException when the driver does not have it
   */
  static DriverFunction of(SymbolLookup driver, String name, int arguments) {
    MemoryLayout[] parameters = new MemoryLayout[arguments];
    Arrays.fill(parameters, JAVA_LONG);
    MethodHandle exact =
        Linker.nativeLinker()
            .downcallHandle(driver.findOrThrow(name), FunctionDescriptor.of(JAVA_INT, parameters));
    MethodHandle padded =
        MethodHandles.dropArguments(
            exact, arguments, Collections.nCopies(MAXIMUM_ARGUMENTS - arguments, long.class));
    return new DriverFunction(name, arguments, padded);
  }

  void call(long a) {
    call(a, 0);
  }

  void call(long a, long b) {
    call(a, b, 0);
  }

  void call(long a, long b, long c) {
    call(a, b, c, 0);
  }

  void call(long a, long b, long c, long d) {
    call(a, b, c, d, 0);
  }

  /**
   * Calls the function; arguments beyond its own are left out.
   *
   * @throws CudaException when it does not return success
   */
  void call(long a, long b, long c, long d, long e) {
    int result = result(a, b, c, d, e);
    if (result != 0) {
      throw CudaException.of(result, name, Arrays.copyOf(new long[] {a, b, c, d, e}, arguments));
    }
  }

  /** Calls the function and answers what it returns. */
  int result(long a, long b, long c, long d, long e) {
    try {
      return (int) handle.invokeExact(a, b, c, d, e);
    } catch (Throwable t) {
      throw new AssertionError(name + " cannot be called", t);
    }
  }
}
