package io.pipelane.switcher.schedule.turn;

import io.pipelane.switcher.sharing.OfflineGate;
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

  /** Whether the gate holds an offline run until a time, of which nobody else will tell. */
  static boolean isHeldForATime(Turn turn) {
    long wait = turn.isOffline() ? turn.gateWaitNanos() : 0;
    return wait > 0 && wait < OfflineGate.UNTIL_TOLD;
  }

  void add(Turn turn) {
    paused.add(turn);
  }

  void remove(Turn turn) {
    paused.remove(turn);
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

  /** Those that are meant look whether they may go on, or need not. */
  void lookAgain(Predicate<Turn> meant) {
    if (paused.isEmpty()) {
      return; // As nearly always, when a request has been answered.
    }
    List.copyOf(paused).stream().filter(meant).forEach(Turn::lookAgain);
  }
}
