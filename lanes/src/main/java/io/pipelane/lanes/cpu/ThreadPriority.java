package io.pipelane.lanes.cpu;

import static java.lang.foreign.ValueLayout.JAVA_INT;

import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.invoke.MethodHandle;

/** What the system gives a thread of the processor beside others. */
public final class ThreadPriority {
  /*
   * Linux keeps a nice value for each thread, and takes 0 for the calling one. Who has no privileges
   * can raise it and never lower it again, so threads are made less urgent for good.
   */
  private static final int PRIO_PROCESS = 0;
  private static final int CALLING_THREAD = 0;
  private static final MethodHandle SETPRIORITY =
      Linker.nativeLinker()
          .downcallHandle(
              Linker.nativeLinker().defaultLookup().findOrThrow("setpriority"),
              FunctionDescriptor.of(JAVA_INT, JAVA_INT, JAVA_INT, JAVA_INT));

  private ThreadPriority() {}

  /**
   * Makes the calling platform thread less urgent than others, for as long as it lives; threads
   * that it starts are so, too.
   *
   * @param nice from 0, as urgent as most, to 19
   * @return whether the system has done so
   */
  public static boolean yieldToOthers(int nice) {
    try {
      return (int) SETPRIORITY.invokeExact(PRIO_PROCESS, CALLING_THREAD, nice) == 0;
    } catch (Throwable e) {
      throw new IllegalStateException("setpriority cannot be called", e);
    }
  }
}
