package io.pipelane.lanes.process;

import io.pipelane.lanes.execution.WorkerLostException.Blame;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * The threads that have a worker run or build something, to say what it may be lost for. Safe for
 * any thread.
 */
final class UnderWay {
  /*
   * A thread has one thing done at a time, so the thread stands for it. The monitor guards
   * everything. `standing` holds those threads for which nothing has got on for a while, and since
   * when. `accused` are those of which one is why the process is ended. `atEnd` is what was under
   * way when it had ended.
   *
   * * On a device a run that never ends has those behind it stand. The one whose patience ends
   * first is no more to blame than the others, so all that stand are accused with it. What has
   * begun, or has got on, in the last half of that patience is not accused: it did not keep the one
   * whose patience ends from getting on in the first half.
   */
  private final Set<Thread> threads = new HashSet<>();
  private final Map<Thread, Long> standing = new HashMap<>();
  private @Nullable Set<Thread> accused;
  private boolean isShort;
  private @Nullable Set<Thread> atEnd;

  /** The calling thread's begins, or is a part of what has begun; answers what ends it. */
  synchronized Ended begin() {
    Thread thread = Thread.currentThread();
    boolean isPart = !threads.add(thread);
    return isPart ? () -> {} : () -> end(thread);
  }

  private synchronized void end(Thread thread) {
    threads.remove(thread);
    standing.remove(thread);
  }

  /** What the calling thread waits for has not got on since a time by {@link System#nanoTime}. */
  synchronized void standsSince(long nanos) {
    standing.put(Thread.currentThread(), nanos);
  }

  /** What the calling thread has waited for is there. */
  synchronized void getsOn() {
    standing.remove(Thread.currentThread());
  }

  /** The process is ended for nothing that it was told to do. */
  synchronized void accuseNobody() {
    accuse(Set.of());
  }

  /** The process has ended for want of memory. */
  synchronized void lackedMemory() {
    isShort |= accused == null;
    accuseNobody();
  }

  /** What the calling thread has done there is why the process is ended. */
  synchronized void accuse() {
    accuse(Set.of(Thread.currentThread()));
  }

  /**
   * The process is ended as what the calling thread waits for does not get on: for its sake, or for
   * that of another thing that has not got on either.
   *
   * @param nanos by {@link System#nanoTime}: whose has got on since then is not to blame
   * @param isBegun whether the process has begun with what the calling thread waits for; that is
   *     not to blame otherwise
   */
  synchronized void accuseStandingSince(long nanos, boolean isBegun) {
    Set<Thread> all = new HashSet<>(isBegun ? Set.of(Thread.currentThread()) : Set.of());
    standing.forEach(
        (thread, since) -> {
          if (since - nanos < 0) {
            all.add(thread);
          }
        });
    accuse(all);
  }

  private void accuse(Set<Thread> all) {
    if (accused == null && atEnd == null) {
      accused = Set.copyOf(all);
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
    if (accused != null && accused.equals(Set.of(self))) {
      return Blame.NAMED;
    }
    if (isShort && reached) {
      return Blame.SHORTAGE;
    }
    Set<Thread> suspects = accused == null ? atEnd : accused;
    if (!reached || suspects == null || !suspects.contains(self)) {
      return Blame.OTHERS;
    }
    return suspects.size() == 1 ? Blame.ALONE : Blame.UNKNOWN;
  }

  /** The end of what was under way. */
  @FunctionalInterface
  interface Ended extends AutoCloseable {
    @Override
    void close();
  }
}
