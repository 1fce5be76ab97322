package io.pipelane.lanes.process.worker;

import static java.lang.foreign.ValueLayout.JAVA_INT;

import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.invoke.MethodHandle;

/** The system's priority of the calling thread, which Java's own priorities do not change. */
final class ThreadPriority {
  private static final int PRIO_PROCESS = 0;
  private static final int CALLING_THREAD = 0;
  private static final int NICE = 10;

  private static final MethodHandle SET_PRIORITY =
      Linker.nativeLinker()
          .downcallHandle(
              Linker.nativeLinker().defaultLookup().findOrThrow("setpriority"),
              FunctionDescriptor.of(JAVA_INT, JAVA_INT, JAVA_INT, JAVA_INT));

  private ThreadPriority() {}

  /** Lets other threads go first, for good. */
  static void lower() {
    try {
      int _ = (int) SET_PRIORITY.invokeExact(PRIO_PROCESS, CALLING_THREAD, NICE);
    } catch (Throwable e) {
      throw new IllegalStateException("setpriority failed", e);
    }
  }
}
