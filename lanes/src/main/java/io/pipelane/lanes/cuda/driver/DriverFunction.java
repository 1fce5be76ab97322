package io.pipelane.lanes.cuda.driver;

import io.pipelane.runtime.NativeFunction;
import java.lang.foreign.SymbolLookup;
import java.util.Arrays;
import java.util.NoSuchElementException;

/**
 * A function of CUDA's driver that JCuda does not offer, or not rightly. Safe for any thread.
 *
 * <p>Every argument is passed as 8 bytes; a function finds a narrower one in the lower part of its
 * register.
 */
final class DriverFunction {
  private final String name;
  private final int arguments;
  private final NativeFunction function;

  private DriverFunction(String name, int arguments, NativeFunction function) {
    this.name = name;
    this.arguments = arguments;
    this.function = function;
  }

  /**
   * Finds a function.
   *
   * @param arguments how many it has, six at most
   * @throws NoSuchElementException when the driver does not have it
   */
  static DriverFunction of(SymbolLookup driver, String name, int arguments) {
    return new DriverFunction(name, arguments, new NativeFunction(driver.findOrThrow(name)));
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
    call(a, b, c, d, 0, 0);
  }

  /**
   * Calls the function, which looks at its own arguments alone.
   *
   * @throws CudaException when it does not return success
   */
  void call(long a, long b, long c, long d, long e, long f) {
    int result = result(a, b, c, d, e, f);
    if (result != 0) {
      long[] own = Arrays.copyOf(new long[] {a, b, c, d, e, f}, arguments);
      throw CudaException.of(result, name, own);
    }
  }

  /** Calls the function and answers what it returns. */
  int result(long a, long b, long c, long d, long e, long f) {
    return (int) function.call(a, b, c, d, e, f, 0);
  }
}
