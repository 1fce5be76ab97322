package io.pipelane.runtime;

import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;
import java.util.Arrays;

/**
 * A C function whose parameters and result are pointers, sizes, integers and enumerations, seven
 * parameters at most (x86-64 and AArch64). Safe for any thread.
 *
 * <p>Addresses are {@code long}, and nothing is allocated for a call. A result of less than 64 bits
 * leaves the rest undefined, so it is to be cast to its type.
 *
 * @param address where it begins
 */
public record NativeFunction(MemorySegment address) {
  /*
   * Each such parameter takes a general register or, on x86-64 the seventh, a place on the stack,
   * which the caller takes back. A function looks at those that it has, a variadic one too. So one
   * method handle calls them all. To link another list of types takes milliseconds, as classes are
   * made for it, and the start of a process is waited for.
   *
   * All are called as variadic ones are: those are told on x86-64 that no vector register has an
   * argument (AL), which others do not look at. So no floating-point number may be passed.
   */
  private static final int PARAMETERS = 7;

  private static final Linker.Option VARIADIC = Linker.Option.firstVariadicArg(PARAMETERS);
  private static final MethodHandle CALL = link(VARIADIC);

  /** A function of the C library. */
  public static NativeFunction of(String name) {
    return new NativeFunction(Linker.nativeLinker().defaultLookup().findOrThrow(name));
  }

  /** Links a call that leaves {@code errno} where its second argument says. */
  static MethodHandle linkWithErrno() {
    return link(VARIADIC, Linker.Option.captureCallState("errno"));
  }

  /** Links a call of seven parameters; an argument in front of them says what is called. */
  private static MethodHandle link(Linker.Option... options) {
    MemoryLayout[] parameters = new MemoryLayout[PARAMETERS];
    Arrays.fill(parameters, JAVA_LONG);
    return Linker.nativeLinker()
        .downcallHandle(FunctionDescriptor.of(JAVA_LONG, parameters), options);
  }

  /** Calls it; arguments beyond its parameters are not looked at. */
  public long call(long a, long b, long c) {
    return call(a, b, c, 0, 0, 0, 0);
  }

  /** Calls it; arguments beyond its parameters are not looked at. */
  public long call(long a, long b, long c, long d, long e, long f, long g) {
    try {
      return (long) CALL.invokeExact(address, a, b, c, d, e, f, g);
    } catch (Throwable t) {
      throw rethrown(t);
    }
  }

  /** The same, where the function says by {@code errno} why it has failed. */
  public long call(CallError error, long a, long b, long c) {
    return call(error, a, b, c, 0, 0, 0);
  }

  /** The same, where the function says by {@code errno} why it has failed. */
  public long call(CallError error, long a, long b, long c, long d, long e, long f) {
    try {
      return (long) CallError.CALL.invokeExact(address, error.state(), a, b, c, d, e, f, 0L);
    } catch (Throwable t) {
      throw rethrown(t);
    }
  }

  private static RuntimeException rethrown(Throwable thrown) {
    return switch (thrown) {
      case RuntimeException e -> e;
      case Error e -> throw e;
      default -> new IllegalStateException("a C function cannot be called", thrown);
    };
  }
}
