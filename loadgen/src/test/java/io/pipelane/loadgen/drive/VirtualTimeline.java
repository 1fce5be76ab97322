package io.pipelane.loadgen.drive;

import java.util.Comparator;
import java.util.PriorityQueue;
import java.util.function.BooleanSupplier;

/** A clock that jumps from task to task. */
final class VirtualTimeline implements Timeline {
  private final PriorityQueue<Task> tasks =
      new PriorityQueue<>(Comparator.comparingLong(Task::nanoTime).thenComparingLong(Task::number));
  private final long lagNanos;
  private long now = -5_000_000_000L;
  private long scheduled;

  VirtualTimeline() {
    this(0);
  }

  /** A clock whose every timer goes off late. */
  VirtualTimeline(long lagNanos) {
    this.lagNanos = lagNanos;
  }

  @Override
  public long nanoTime() {
    return now;
  }

  @Override
  public void at(long nanoTime, Runnable task) {
    tasks.add(new Task(Math.max(now, nanoTime + lagNanos), scheduled++, task));
  }

  void runUntil(BooleanSupplier end) {
    while (!end.getAsBoolean()) {
      Task task = tasks.remove();
      now = task.nanoTime;
      task.action.run();
    }
  }

  private record Task(long nanoTime, long number, Runnable action) {}
}
