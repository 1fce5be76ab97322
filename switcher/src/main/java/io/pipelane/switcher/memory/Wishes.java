package io.pipelane.switcher.memory;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.function.DoubleSupplier;

/**
 * Models that somebody wants on the device soon, the most urgent first. Guarded by the daemon's
 * lock.
 */
final class Wishes {
  /*
   * A wish brings each page of its model in once, whether it is copied anew where a copy fails or
   * not. What gives way to others meanwhile is not brought
   * back: a model that is asked all the time would take its pages back each time, and neither would
   * ever be complete.
   */

  /** A wish that says nothing is kept this long, and comes behind those that say when. */
  private static final Duration NO_DEADLINE = Duration.ofMinutes(1);

  private static final int MOST = 1_000;

  /** So long before its time is over, at least, a wish goes before runs. */
  private static final Duration URGENT = Duration.ofSeconds(5);

  /** Copies may take so many times as long as the link says. */
  private static final int MARGIN = 2;

  private static final Comparator<Wish> MOST_URGENT_FIRST =
      Comparator.<Wish, Boolean>comparing(wish -> !wish.saysWhen)
          .thenComparingLong(wish -> wish.endNanos);

  private final DoubleSupplier nanosPerPage;
  private final List<Wish> wishes = new ArrayList<>();

  /**
   * A wish.
   *
   * @param pagesLeft that it may still bring in
   */
  private record Wish(Residency residency, boolean saysWhen, long endNanos, int pagesLeft) {
    static Wish whenThereIsTime(Residency residency, long nowNanos, int pages) {
      return new Wish(residency, false, nowNanos + NO_DEADLINE.toNanos(), pages);
    }

    boolean isOver(long nowNanos) {
      return endNanos - nowNanos < 0;
    }

    Wish lessAPage() {
      return new Wish(residency, saysWhen, endNanos, pagesLeft - 1);
    }
  }

  /**
   * Nobody wants anything yet.
   *
   * @param nanosPerPage what copying a page takes
   */
  Wishes(DoubleSupplier nanosPerPage) {
    this.nanosPerPage = nanosPerPage;
  }

  /**
   * Adds a wish, in place of an earlier one for the same model; the least urgent of very many is
   * forgotten.
   *
   * @param within how soon; empty for when there is time, which never becomes urgent
   */
  void add(Residency residency, Optional<Duration> within, long nowNanos) {
    forget(residency);
    int pages = residency.slotsNeeded();
    wishes.add(
        within
            .map(time -> new Wish(residency, true, nowNanos + time.toNanos(), pages))
            .orElseGet(() -> Wish.whenThereIsTime(residency, nowNanos, pages)));
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

  /** A page of a model has come ahead of runs, whoever wanted it. */
  void broughtIn(Residency residency) {
    wishes.replaceAll(wish -> wish.residency == residency ? wish.lessAPage() : wish);
    wishes.removeIf(wish -> wish.pagesLeft == 0);
  }

  /** Those of the {@link #open open} ones that have to be fulfilled at once. */
  List<Residency> urgent(long nowNanos) {
    if (wishes.isEmpty()) {
      return List.of(); // As mostly, and it is asked for each page that comes.
    }
    return wishes.stream()
        .filter(wish -> wish.saysWhen && wish.endNanos - nowNanos < urgentNanos(wish))
        .map(Wish::residency)
        .toList();
  }

  private double urgentNanos(Wish wish) {
    double copyNanos = MARGIN * wish.residency.missingSlots() * nanosPerPage.getAsDouble();
    return Math.max((double) URGENT.toNanos(), copyNanos);
  }

  /** Those that are not fulfilled; where the time is over, there is time. */
  List<Residency> open(long nowNanos) {
    if (wishes.isEmpty()) {
      return List.of();
    }
    wishes.removeIf(wish -> isFulfilled(wish) || (!wish.saysWhen && wish.isOver(nowNanos)));
    wishes.replaceAll(
        wish ->
            wish.isOver(nowNanos)
                ? Wish.whenThereIsTime(wish.residency, nowNanos, wish.pagesLeft)
                : wish);
    wishes.sort(MOST_URGENT_FIRST);
    return wishes.stream().map(Wish::residency).toList();
  }

  /** What is on its way may still fail to come. */
  private static boolean isFulfilled(Wish wish) {
    return wish.residency.isComplete() && !wish.residency.isArriving();
  }
}
