package io.pipelane.lanes.process;

import io.pipelane.lanes.execution.WorkerLostException.Blame;
import java.util.HashSet;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Which threads have a worker run or build something, to say what it may be lost for. Safe for any
 * thread.
 */
final class UnderWay {
  /*
   * A thread has one thing done at a time, so the thread stands for it. The monitor guards
   * everything. `atEnd` is what was under way when the process had ended.
   */
  private final Set<Thread> threads = new HashSet<>();
  private @Nullable Thread culprit;
  private @Nullable Set<Thread> atEnd;

  /** The calling thread's begins, or is a part of what has begun; answers what ends it. */
  synchronized Ended begin() {
    Thread thread = Thread.currentThread();
    boolean isPart = !threads.add(thread);
    return isPart ? () -> {} : () -> end(thread);
  }

  private synchronized void end(Thread thread) {
    threads.remove(thread);
  }

  /** What the calling thread has done there is why the process is ended. */
  synchronized void accuse() {
    if (culprit == null && atEnd == null) {
      culprit = Thread.currentThread();
    }
  }

  /** The process has ended, or will compute nothing more; the first time counts. */
  synchronized void processEnded() {
    if (atEnd == null) {
      atEnd = Set.copyOf(threads);
    }
  }

  /**
   * Whether what the calling thread has done there may be why the process has ended.
   *
   * @param reached whether the process can have begun with it
   */
  synchronized Blame blame(boolean reached) {
    Thread self = Thread.currentThread();
    if (culprit != null) {
      return self.equals(culprit) ? Blame.NAMED : Blame.OTHERS;
    }
    if (!reached || atEnd == null || !atEnd.contains(self)) {
      return Blame.OTHERS;
    }
    return atEnd.size() == 1 ? Blame.ALONE : Blame.UNKNOWN;
  }

  /** The end of what was under way. */
  @FunctionalInterface
  interface Ended extends AutoCloseable {
    @Override
    void close();
  }
}
