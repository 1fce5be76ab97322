package io.pipelane.switcher.residency;

import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.Deque;
import java.util.List;
import java.util.Optional;
import java.util.function.Predicate;

/**
 * What to bring in while the link is idle: pages of planned prefixes that are missing, the most
 * valuable first. Belongs to whoever guards the holdings.
 */
public final class IdleMoves {
  /*
   * The plan leaves room for the largest model to stream through: what a cold run brings in beyond
   * its prefix goes there, and the next cold run takes that first, so runs do not eat into prefixes.
   *
   * Three things keep pages from going back and forth. A page is moved only when it gains a good
   * deal more than the page it takes the place of, when what it gains while rates last pays for its
   * copy, and when no more than a share of all pages have been moved since the latest plan.
   */
  private static final Duration PLAN_LASTS = Duration.ofSeconds(1);
  private static final double WORTH_MOVING = 1.25;
  private static final int SHARE_OF_PAGES_MOVED = 16;
  private static final int LEAST_MOVES = 8;

  private final Holdings holdings;
  private final int capacityPages;
  private final double nanosPerPage;
  private final double ratesLastSeconds;
  private Deque<Aim> aims = new ArrayDeque<>();
  private long plannedNanos;
  private long plannedUses = -1;
  private int movesLeft;

  /** A model that should hold so many pages, and what the first of those that it lacks gains. */
  private record Aim(Holding holding, int pages, double gain) {
    boolean isMet() {
      return holding.pages >= pages;
    }
  }

  /**
   * Has planned nothing yet.
   *
   * @param nanosPerPage what copying a page takes
   * @param ratesLast how long rates are expected to stay as they are
   */
  public IdleMoves(Holdings holdings, int capacityPages, double nanosPerPage, Duration ratesLast) {
    this.holdings = holdings;
    this.capacityPages = capacityPages;
    this.nanosPerPage = nanosPerPage;
    this.ratesLastSeconds = ratesLast.toNanos() / 1e9;
  }

  /**
   * The model whose next page is worth bringing in now, if there is one and room can be made for
   * it; counts as moved.
   *
   * @param freePages that nobody holds
   * @param mayGain whether a model can be given a page now
   * @param mayGiveWay whether pages can be taken from a model now
   */
  public Optional<Holding> next(
      long freePages, Predicate<Holding> mayGain, Predicate<Holding> mayGiveWay, long nowNanos) {
    if (!holdings.policy().plansAhead()) {
      return Optional.empty();
    }
    planAnew(nowNanos);
    while (!aims.isEmpty() && aims.getFirst().isMet()) {
      aims.removeFirst();
    }
    Optional<Holding> best =
        movesLeft == 0
            ? Optional.empty()
            : aims.stream()
                .filter(aim -> !aim.isMet() && mayGain.test(aim.holding))
                .findFirst()
                .map(Aim::holding)
                .filter(into -> isWorthIt(into, freePages, mayGiveWay, nowNanos));
    movesLeft -= best.isPresent() ? 1 : 0;
    return best;
  }

  private boolean isWorthIt(
      Holding into, long freePages, Predicate<Holding> mayGiveWay, long nowNanos) {
    double gain = savedPerSecond(into, into.pages, nowNanos);
    double loss = 0;
    if (freePages == 0) {
      Optional<Holding> from = holdings.next(h -> h != into && mayGiveWay.test(h));
      if (from.isEmpty()) {
        return false;
      }
      loss = savedPerSecond(from.get(), from.get().pages - 1, nowNanos);
    }
    return gain >= WORTH_MOVING * loss && (gain - loss) * ratesLastSeconds >= nanosPerPage;
  }

  /** Nanoseconds that a page saves each second. */
  private static double savedPerSecond(Holding holding, int page, long nowNanos) {
    return holding.usage.perSecond(nowNanos) * holding.curve.gainNanos(page);
  }

  private void planAnew(long nowNanos) {
    boolean stale = plannedUses < 0 || nowNanos - plannedNanos >= PLAN_LASTS.toNanos();
    if (!stale || plannedUses == holdings.uses()) {
      return;
    }
    plannedUses = holdings.uses();
    plannedNanos = nowNanos;
    movesLeft = Math.max(LEAST_MOVES, capacityPages / SHARE_OF_PAGES_MOVED);
    List<Holding> all = List.copyOf(holdings.all());
    List<PrefixPlanner.Demand> demands =
        all.stream()
            .map(h -> new PrefixPlanner.Demand(h.usage.perSecond(nowNanos), h.curve))
            .toList();
    int[] prefixes = PrefixPlanner.prefixes(demands, plannedPages(all));
    List<Aim> unmet = new ArrayList<>();
    for (int i = 0; i < prefixes.length; i++) {
      Holding holding = all.get(i);
      if (holding.pages < prefixes[i]) {
        double gain = savedPerSecond(holding, holding.pages, nowNanos);
        unmet.add(new Aim(holding, prefixes[i], gain));
      }
    }
    unmet.sort(Comparator.comparingDouble(Aim::gain).reversed());
    aims = new ArrayDeque<>(unmet);
  }

  private long plannedPages(List<Holding> all) {
    long wanted = 0;
    int largest = 0;
    for (Holding holding : all) {
      wanted += holding.curve.pages();
      largest = Math.max(largest, holding.curve.pages());
    }
    return wanted <= capacityPages ? capacityPages : capacityPages - largest;
  }
}
