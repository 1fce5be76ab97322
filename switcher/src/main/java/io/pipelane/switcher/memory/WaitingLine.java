package io.pipelane.switcher.memory;

import io.pipelane.modelstore.repository.ModelOptions.Priority;
import java.util.ArrayList;
import java.util.List;

/**
 * A line of those that wait for something, one after another. In a line by class, offline ones come
 * behind all others. Guarded by the daemon's lock.
 */
final class WaitingLine {
  private final List<Turn> turns = new ArrayList<>();
  private final boolean byClass;

  /** A place in lines. */
  static final class Turn {
    private final boolean first;
    private boolean offline;

    /** Whether what it waits for is in nobody's way but that of offline work. */
    boolean waitsForQuota;

    Turn(Priority priority) {
      this(priority == Priority.OFFLINE, false);
    }

    private Turn(boolean offline, boolean first) {
      this.offline = offline;
      this.first = first;
    }

    /** One before all others; there is one at a time. */
    static Turn beforeAll() {
      return new Turn(false, true);
    }

    /** Whether only offline work waits for this. */
    boolean isOffline() {
      return offline;
    }
  }

  /**
   * Nobody waits.
   *
   * @param byClass whether online ones go first, or everybody takes turns
   */
  WaitingLine(boolean byClass) {
    this.byClass = byClass;
  }

  /** Joins; offline ones that somebody online waits for in turn are offline no longer. */
  void join(Turn turn) {
    if (!byClass && !turn.offline) {
      turns.forEach(earlier -> earlier.offline = false);
    }
    turns.add(turn);
  }

  void leave(Turn turn) {
    turns.remove(turn);
  }

  boolean isEmpty() {
    return turns.isEmpty();
  }

  /**
   * Whether somebody waits for what others may take, and goes before work of a class: not for a
   * quota, nor behind one who does, and offline ones before their own class alone.
   */
  boolean isContended(Priority priority) {
    return !turns.isEmpty()
        && !first().waitsForQuota
        && (priority == Priority.OFFLINE || !first().offline);
  }

  /** Whether the first waits for other work of its class alone, which is not to pass it. */
  boolean isForQuota() {
    return !turns.isEmpty() && first().waitsForQuota;
  }

  /** Whether it is a turn's time. */
  boolean isFirst(Turn turn) {
    return turn == first();
  }

  private Turn first() {
    for (Turn turn : turns) {
      if (turn.first) {
        return turn;
      }
    }
    if (byClass) {
      for (Turn turn : turns) {
        if (!turn.offline) {
          return turn;
        }
      }
    }
    return turns.getFirst();
  }
}
