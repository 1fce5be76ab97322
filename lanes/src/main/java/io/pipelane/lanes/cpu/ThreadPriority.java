package io.pipelane.lanes.cpu;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import io.pipelane.config.value.ProcessorList;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;

/** The scheduling priority of a thread, and the processors that it keeps to. */
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

  private static final MethodHandle SCHED_SETAFFINITY =
      Linker.nativeLinker()
          .downcallHandle(
              Linker.nativeLinker().defaultLookup().findOrThrow("sched_setaffinity"),
              FunctionDescriptor.of(JAVA_INT, JAVA_INT, JAVA_LONG, ADDRESS));

  private ThreadPriority() {}

  /**
   * Makes the calling platform thread less urgent than others, for as long as it lives; threads
   * that it starts are so, too.
   *
   * @param nice from 0, as urgent as most, to 19
   * @return whether the system has done so
   */
  public static boolean yieldToOthers(int nice) {
    return yieldToOthers(CALLING_THREAD, nice);
  }

  /** The same of any thread of the system, by its number. */
  static boolean yieldToOthers(int thread, int nice) {
    try {
      return (int) SETPRIORITY.invokeExact(PRIO_PROCESS, thread, nice) == 0;
    } catch (Throwable e) {
      throw new IllegalStateException("setpriority cannot be called", e);
    }
  }

  /**
   * Has the calling platform thread run on some processors alone, for as long as it lives; threads
   * that it starts do so, too.
   *
   * @return whether the system has done so; it does not when the process may use none of them
   */
  public static boolean keepTo(ProcessorList processors) {
    return keepTo(CALLING_THREAD, processors);
  }

  /** The same of any thread of the system, by its number. */
  static boolean keepTo(int thread, ProcessorList processors) {
    try (Arena arena = Arena.ofConfined()) {
      int words = processors.numbers().getLast() / Long.SIZE + 1;
      MemorySegment mask = arena.allocate(JAVA_LONG, words);
      for (int processor : processors.numbers()) {
        long word = mask.getAtIndex(JAVA_LONG, processor / Long.SIZE);
        mask.setAtIndex(JAVA_LONG, processor / Long.SIZE, word | 1L << processor % Long.SIZE);
      }
      return (int) SCHED_SETAFFINITY.invokeExact(thread, mask.byteSize(), mask) == 0;
    } catch (Throwable e) {
      throw new IllegalStateException("sched_setaffinity cannot be called", e);
    }
  }
}
