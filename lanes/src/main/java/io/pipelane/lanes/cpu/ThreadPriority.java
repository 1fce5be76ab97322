package io.pipelane.lanes.cpu;

import static java.lang.foreign.ValueLayout.JAVA_LONG;

import io.pipelane.config.value.ProcessorList;
import io.pipelane.runtime.NativeFunction;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;

/** The scheduling priority of a thread, and the processors that it keeps to. */
public final class ThreadPriority {
  /*
   * Linux keeps a nice value for each thread, and takes 0 for the calling one. Who has no privileges
   * can raise it and never lower it again, so threads are made less urgent for good.
   */
  private static final int PRIO_PROCESS = 0;
  private static final int CALLING_THREAD = 0;
  private static final NativeFunction SETPRIORITY = NativeFunction.of("setpriority");
  private static final NativeFunction SCHED_SETAFFINITY = NativeFunction.of("sched_setaffinity");

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
    return (int) SETPRIORITY.call(PRIO_PROCESS, thread, nice) == 0;
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
      return (int) SCHED_SETAFFINITY.call(thread, mask.byteSize(), mask.address()) == 0;
    }
  }
}
