package io.pipelane.runtime;

import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.util.Arrays;

/**
 * C functions made of Java methods whose parameters and result are {@code long}: for pointers,
 * sizes and integers alike, as of a narrower result only its own part is looked at, and of none
 * nothing.
 */
final class Upcall {
  // Classes are made for each list of types, which takes milliseconds: hence few of them.
  private Upcall() {}

  /**
   * A function pointer that calls a method of an object.
   *
   * @param lookup of the receiver's class, so that the method may be private
   * @param arena whose end is the function's
   * @param parameters how many the method has
   */
  static MemorySegment of(
      MethodHandles.Lookup lookup, Object receiver, String method, Arena arena, int parameters) {
    MemoryLayout[] layouts = new MemoryLayout[parameters];
    Arrays.fill(layouts, JAVA_LONG);
    FunctionDescriptor descriptor = FunctionDescriptor.of(JAVA_LONG, layouts);
    try {
      MethodHandle handle = lookup.bind(receiver, method, descriptor.toMethodType());
      return Linker.nativeLinker().upcallStub(handle, descriptor, arena);
    } catch (ReflectiveOperationException e) {
      throw new LinkageError(method, e);
    }
  }
}
