package io.pipelane.lanes.process;

import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;

/**
 * The workers that are to leave: those whose post another has taken some time after that, others at
 * once. Belongs to the supervisor's thread; times are of the system's clock.
 */
final class Departures {
  /*
   * A worker that was relieved is let alone for a while. What it runs comes to its end there, as
   * most runs do. To begin anew costs more, above all in a successor that runs for the first time.
   *
   * Its process ends later, too. For some tens of milliseconds that takes a processor, and on a GPU
   * the driver, which maps memory for nobody else meanwhile. The successor's first runs come before
   * that.
   */
  private final Duration grace;
  private final Map<WorkerMember, Departure> relieved = new LinkedHashMap<>();

  private record Departure(Consumer<WorkerProcess> end, long dueNanos) {}

  /**
   * Nobody leaves yet.
   *
   * @param grace how long those who were relieved are let alone
   */
  Departures(Duration grace) {
    this.grace = grace;
  }

  /**
   * A worker leaves in a while, as another does what it did; nobody begins to use it.
   *
   * @param end what becomes of it then
   */
  void relieve(WorkerMember member, Consumer<WorkerProcess> end, long nowNanos) {
    if (!member.is(WorkerState.RETIRING)) {
      member.become(WorkerState.RETIRING);
      member.worker.relieve();
      relieved.put(member, new Departure(end, nowNanos + grace.toNanos()));
    }
  }

  /** A worker leaves once its runs have come to their end, whatever was said before. */
  void retire(WorkerMember member) {
    relieved.remove(member);
    member.become(WorkerState.RETIRING);
    member.worker.retire();
  }

  /** A worker is gone. */
  void gone(WorkerMember member) {
    relieved.remove(member);
  }

  /** Ends those whose time is over. */
  void endDue(long nowNanos) {
    for (Map.Entry<WorkerMember, Departure> each : List.copyOf(relieved.entrySet())) {
      if (each.getValue().dueNanos - nowNanos <= 0) {
        relieved.remove(each.getKey());
        each.getValue().end.accept(each.getKey().worker);
      }
    }
  }

  /** Until somebody's time is over. */
  long leftNanos(long nowNanos) {
    return relieved.values().stream()
        .mapToLong(each -> each.dueNanos - nowNanos)
        .min()
        .orElse(Long.MAX_VALUE);
  }
}
