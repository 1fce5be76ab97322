package io.pipelane.switcher.schedule.turn;

import io.pipelane.switcher.sharing.gate.OfflineGate;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/** The runs that wait for a turn to go on with. Guarded by the turns' lock. */
final class PausedRuns {
  private static final Comparator<Turn> ORDER =
      Comparator.<Turn, Boolean>comparing(turn -> turn.isOffline() && !turn.passes())
          .thenComparingLong(turn -> turn.pause().remainingWithJobNanos());

  private final List<Turn> paused = new ArrayList<>();
  private volatile int online; // Looked at without the lock.

  /** Whether the gate holds an offline run until a time, of which nobody else will tell. */
  static boolean isHeldForATime(Turn turn) {
    long wait = turn.isOffline() ? turn.gateWaitNanos() : 0;
    return wait > 0 && wait < OfflineGate.UNTIL_TOLD;
  }

  void add(Turn turn) {
    paused.add(turn);
    countOnline();
  }

  void remove(Turn turn) {
    paused.remove(turn);
    countOnline();
  }

  private void countOnline() {
    online = (int) paused.stream().filter(turn -> !turn.isOffline()).count();
  }

  /** Whether there is an online one; for any thread, and at once. */
  boolean hasOnline() {
    return online > 0;
  }

  boolean contains(Turn turn) {
    return paused.contains(turn);
  }

  boolean hasOffline() {
    return paused.stream().anyMatch(Turn::isOffline);
  }

  /** The one that goes on first; null where there is none that may. */
  @Nullable Turn next() {
    if (paused.isEmpty()) {
      return null; // As nearly always, of every request.
    }
    return paused.stream()
        .filter(turn -> !turn.isOffline() || turn.gateWaitNanos() == 0)
        .min(ORDER)
        .orElse(null);
  }

  /** The online one that goes on first of those which are meant; null where there is none. */
  @Nullable Turn firstOnline(Predicate<Turn> meant) {
    return hasOnline()
        ? paused.stream().filter(turn -> !turn.isOffline()).filter(meant).min(ORDER).orElse(null)
        : null;
  }

  /** All wait for a run that begins before them. */
  void goBehind(RunProgress run) {
    paused.forEach(turn -> turn.pause().goesBehind(run));
  }

  /** A run waits for what others hold: those that let it go first need do so no more. */
  void noLongerBehind(RunProgress run) {
    paused.forEach(turn -> turn.pause().noLongerBehind(run));
  }

  /** Those that are meant look whether they may go on, or need not. */
  void lookAgain(Predicate<Turn> meant) {
    if (paused.isEmpty()) {
      return; // As nearly always, when a request has been answered.
    }
    List.copyOf(paused).stream().filter(meant).forEach(Turn::lookAgain);
  }
}
