package io.pipelane.switcher.simulator;

import io.pipelane.switcher.schedule.estimate.LaneTimes;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Requests in the order of their coming, of which those are refused that cannot be answered in time
 * behind what is before them.
 */
final class Admissions {
  /*
   * The rule is the queue's (AnswerTimes) for fifo, without batching and preemption. What
   * is before a request counts by its time with all weights there, as these may come in while it
   * waits. What would be refused at its own turn counts for nothing. The request's own stall counts
   * where it makes it late by itself. So whoever is refused would not have made it, and some that
   * are taken are refused at their turn.
   */
  private final SimulatedMemory memory;
  private final int lanes;
  private final long objectiveNanos;
  private final Deque<Waiting> waiting = new ArrayDeque<>();
  private long waitingNanos;

  /** By request, when its run would end if it waited for no weights. */
  private final Map<Integer, Long> leastEnds = new HashMap<>();

  private record Waiting(int request, int model, long due, long warmNanos) {}

  /**
   * Nothing waits and nothing runs.
   *
   * @param objectiveNanos from a request's coming to its answer, at most
   */
  Admissions(SimulatedMemory memory, int lanes, long objectiveNanos) {
    this.memory = memory;
    this.lanes = lanes;
    this.objectiveNanos = objectiveNanos;
  }

  /** A request comes; returns false when it is refused. */
  boolean come(int request, int model, long now, long linkFree) {
    long due = objectiveNanos > Long.MAX_VALUE - now ? Long.MAX_VALUE : now + objectiveNanos;
    Waiting own = new Waiting(request, model, due, memory.warmNanos(model));
    long slack = due - now - own.warmNanos;
    if (slackNanos(own, now, linkFree) < 0 || !canBeginWithin(slack, now, linkFree)) {
      return false;
    }
    waiting.addLast(own);
    waitingNanos += own.warmNanos;
    return true;
  }

  /** How long a request's run may wait to begin, if it then takes what is expected now. */
  private long slackNanos(Waiting request, long now, long linkFree) {
    long stall = memory.expectedStallNanos(request.model, now, linkFree);
    return request.due - now - request.warmNanos - stall;
  }

  private boolean canBeginWithin(long slack, long now, long linkFree) {
    LaneTimes taken = taken(now);
    if (taken.latestBeginNanos(waitingNanos) <= slack) {
      return true;
    }
    for (Waiting other : waiting) {
      if (taken.beginNanos() > slack) {
        return false;
      }
      if (taken.beginNanos() <= slackNanos(other, now, linkFree)) {
        taken.add(other.warmNanos);
      }
    }
    return taken.beginNanos() <= slack;
  }

  private LaneTimes taken(long now) {
    long[] taken = new long[lanes];
    int lane = 0;
    for (long end : leastEnds.values()) {
      taken[lane++] = Math.max(0, end - now);
    }
    return new LaneTimes(taken);
  }

  boolean isEmpty() {
    return waiting.isEmpty();
  }

  /** The first in line. */
  int first() {
    return waiting.getFirst().request;
  }

  /** Whether the first in line cannot be answered in time any more, now that its turn has come. */
  boolean isFirstTooLate(long now, long linkFree) {
    return slackNanos(waiting.getFirst(), now, linkFree) < 0;
  }

  /** Models of some that are first in line. */
  List<Integer> upcoming(int count) {
    return waiting.stream().limit(count).map(Waiting::model).toList();
  }

  /** The first in line leaves, refused. */
  void leave() {
    waitingNanos -= waiting.removeFirst().warmNanos;
  }

  /** The first in line begins its run. */
  void begin(long now) {
    Waiting first = waiting.getFirst();
    leave();
    leastEnds.put(first.request, now + first.warmNanos);
  }

  /** A run has ended. */
  void ended(int request) {
    leastEnds.remove(request);
  }
}
