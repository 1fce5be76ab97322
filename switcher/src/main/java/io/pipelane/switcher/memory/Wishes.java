package io.pipelane.switcher.memory;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;

/**
 * Models that somebody wants on the device soon, the most urgent first. Guarded by the daemon's
 * lock.
 */
final class Wishes {
  /** A wish that says nothing is kept this long, and comes behind those that say when. */
  private static final Duration NO_DEADLINE = Duration.ofMinutes(1);

  private static final int MOST = 1_000;

  /** Before this time runs go before wishes that say when. */
  private static final Duration URGENT = Duration.ofSeconds(5);

  private final List<Wish> wishes = new ArrayList<>();

  private static final Comparator<Wish> MOST_URGENT_FIRST =
      Comparator.<Wish, Boolean>comparing(wish -> !wish.saysWhen)
          .thenComparingLong(wish -> wish.endNanos);

  private record Wish(Residency residency, boolean saysWhen, long endNanos) {}

  /**
   * Adds a wish, in place of an earlier one for the same model; the least urgent of very many is
   * forgotten.
   *
   * @param within how soon; empty for when there is time, which never becomes urgent
   */
  void add(Residency residency, Optional<Duration> within, long nowNanos) {
    forget(residency);
    long endNanos = nowNanos + within.orElse(NO_DEADLINE).toNanos();
    wishes.add(new Wish(residency, within.isPresent(), endNanos));
    wishes.sort(MOST_URGENT_FIRST);
    if (wishes.size() > MOST) {
      wishes.removeLast();
    }
  }

  boolean has(Residency residency) {
    return wishes.stream().anyMatch(wish -> wish.residency == residency);
  }

  void forget(Residency residency) {
    wishes.removeIf(wish -> wish.residency == residency);
  }

  /** Those of the {@link #open open} ones that have to be fulfilled at once. */
  List<Residency> urgent(long nowNanos) {
    return wishes.stream()
        .takeWhile(wish -> wish.saysWhen && wish.endNanos - nowNanos < URGENT.toNanos())
        .map(Wish::residency)
        .toList();
  }

  /** Those that are not fulfilled, and whose time is not over. */
  List<Residency> open(long nowNanos) {
    wishes.removeIf(wish -> wish.residency.isComplete() || wish.endNanos - nowNanos < 0);
    return wishes.stream().map(Wish::residency).toList();
  }
}
