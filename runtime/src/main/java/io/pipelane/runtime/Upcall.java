package io.pipelane.runtime;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;

/** C functions made of Java methods whose parameters and result are {@code long} or {@code int}. */
final class Upcall {
  private Upcall() {}

  /**
   * A function pointer that calls a method of an object.
   *
   * @param lookup of the receiver's class, so that the method may be private
   * @param arena whose end is the function's
   */
  static MemorySegment of(
      MethodHandles.Lookup lookup,
      Object receiver,
      String method,
      Arena arena,
      Class<?> result,
      Class<?>... parameters) {
    try {
      MethodHandle handle =
          lookup.bind(receiver, method, MethodType.methodType(result, parameters));
      MemoryLayout[] layouts = new MemoryLayout[parameters.length];
      for (int i = 0; i < parameters.length; i++) {
        layouts[i] = layout(parameters[i]);
      }
      FunctionDescriptor descriptor =
          result == void.class
              ? FunctionDescriptor.ofVoid(layouts)
              : FunctionDescriptor.of(layout(result), layouts);
      return Linker.nativeLinker().upcallStub(handle, descriptor, arena);
    } catch (ReflectiveOperationException e) {
      throw new LinkageError(method, e);
    }
  }

  private static MemoryLayout layout(Class<?> type) {
    return type == int.class ? JAVA_INT : JAVA_LONG;
  }
}
