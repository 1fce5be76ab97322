package io.pipelane.switcher.residency;

import io.pipelane.config.section.ResidencyConfig;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.function.DoubleSupplier;
import java.util.function.Predicate;

/**
 * The choice of what to bring in while the link is idle: pages of planned prefixes that are
 * missing, the most valuable first. It also says whether a page is worth it at all. Belongs to
 * whoever guards the holdings.
 */
public final class IdleMoves {
  /*
   * The plan leaves room for the largest model to stream through. What a cold run brings in beyond
   * its prefix goes there, and the next cold run takes that first, so runs do not eat into
   * prefixes. Nothing is planned for offline work, nor for parts of units, which come whole or not
   * at all.
   *
   * Three things keep pages from going back and forth. A page is moved only when it gains a good
   * deal more than the page it takes the place of, when what it gains while rates last pays for its
   * copy, and when no more than a share of all pages have been moved since the latest plan. What is
   * held for other devices (PeerMemory) heeds the first two.
   *
   * A plan is made anew when rates have changed, when room has come free, or when the latest one
   * was stopped by its share of moves: where nothing else happens, planned prefixes come all the
   * same, a share each second.
   */
  private static final Duration PLAN_LASTS = Duration.ofSeconds(1);
  static final double WORTH_MOVING = 1.25;
  private static final int SHARE_OF_PAGES_MOVED = 16;
  private static final int LEAST_MOVES = 8;

  private final Holdings holdings;
  private final int capacityPages;
  private final DoubleSupplier nanosPerPage;
  private final double ratesLastSeconds;
  private final boolean plans;
  private List<Aim> aims = new ArrayList<>();
  private long plannedNanos;
  private long plannedUses = -1;
  private long plannedReturns;
  private int movesLeft;

  /** A model that should hold so many pages. */
  private record Aim(Holding holding, int pages) {
    boolean isMet() {
      return holding.pages >= pages;
    }
  }

  /**
   * Has planned nothing yet.
   *
   * @param nanosPerPage what copying a page takes
   * @param config whether anything is planned, and how long rates are expected to stay as they are
   */
  public IdleMoves(
      Holdings holdings, int capacityPages, DoubleSupplier nanosPerPage, ResidencyConfig config) {
    this.holdings = holdings;
    this.capacityPages = capacityPages;
    this.nanosPerPage = nanosPerPage;
    this.ratesLastSeconds = config.halfLife().toNanos() / 1e9;
    this.plans = config.idlePrefetch() && holdings.policy().plansAhead();
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
    aims.removeIf(aim -> aim.isMet() || !holdings.has(aim.holding));
    Optional<Holding> best =
        movesLeft == 0
            ? Optional.empty()
            : aims.stream()
                .map(Aim::holding)
                .filter(mayGain)
                .max(Comparator.comparingDouble(into -> nextPageSaves(into, nowNanos)))
                .filter(into -> isWorthIt(into, freePages, mayGiveWay, nowNanos));
    movesLeft -= best.isPresent() ? 1 : 0;
    return best;
  }

  /** What {@link #next} has said last is not brought in yet, and does not count as moved. */
  public void putOff() {
    movesLeft++;
  }

  /**
   * Whether a model's next page is worth its copy, and what has to give way for it.
   *
   * @param freePages that nobody holds
   * @param mayGiveWay whether pages can be taken from a model now
   */
  public boolean isWorthIt(
      Holding into, long freePages, Predicate<Holding> mayGiveWay, long nowNanos) {
    double gain = nextPageSaves(into, nowNanos);
    double loss = 0;
    if (freePages == 0) {
      Optional<Holding> from = holdings.next(h -> h != into && mayGiveWay.test(h));
      if (from.isEmpty()) {
        return false;
      }
      loss = from.get().keptForPerSecond(nowNanos) * from.get().givingWayNanos();
    }
    return gain >= WORTH_MOVING * loss
        && (gain - loss) * ratesLastSeconds >= nanosPerPage.getAsDouble();
  }

  /** Nanoseconds that the first page which a model lacks would save each second. */
  private static double nextPageSaves(Holding holding, long nowNanos) {
    return holding.keptForPerSecond(nowNanos) * holding.curve.gainNanos(holding.pages);
  }

  /**
   * A plan in the making, which takes a while with many pages: it may be solved anywhere, as nobody
   * else has what it is made of.
   */
  public static final class Planning {
    private final List<Holding> models;
    private final List<PrefixPlanner.Demand> demands;
    private final long pages;
    private int[] prefixes = {};

    private Planning(List<Holding> models, List<PrefixPlanner.Demand> demands, long pages) {
      this.models = models;
      this.demands = demands;
      this.pages = pages;
    }

    /** Finds the best prefixes. */
    public void solve() {
      prefixes = PrefixPlanner.prefixes(demands, pages);
    }
  }

  /** A plan to be solved and {@link #follow followed}, when the latest one is old. */
  public Optional<Planning> due(long nowNanos) {
    boolean fresh = plannedUses >= 0 && nowNanos - plannedNanos < PLAN_LASTS.toNanos();
    if (fresh || !plans || !hasChanged()) {
      return Optional.empty();
    }
    plannedUses = holdings.uses();
    plannedReturns = holdings.returns();
    plannedNanos = nowNanos;
    List<Holding> models =
        holdings.all().stream().filter(h -> !h.offline && h.unit() == null).toList();
    List<PrefixPlanner.Demand> demands =
        models.stream()
            .map(h -> new PrefixPlanner.Demand(h.keptForPerSecond(nowNanos), h.curve))
            .toList();
    return Optional.of(new Planning(models, demands, plannedPages(holdings.all())));
  }

  /** Whether another plan could say something else than the latest, or have more moved. */
  private boolean hasChanged() {
    return plannedUses != holdings.uses()
        || plannedReturns != holdings.returns()
        || (movesLeft == 0 && aims.stream().anyMatch(aim -> !aim.isMet()));
  }

  /** Follows a plan that has been solved. */
  public void follow(Planning solved) {
    movesLeft = Math.max(LEAST_MOVES, capacityPages / SHARE_OF_PAGES_MOVED);
    aims = new ArrayList<>();
    for (int i = 0; i < solved.prefixes.length; i++) {
      aims.add(new Aim(solved.models.get(i), solved.prefixes[i]));
    }
  }

  private long plannedPages(Collection<Holding> all) {
    long wanted = 0;
    int largest = 0;
    for (Holding holding : all) {
      wanted += holding.curve.pages();
      largest = Math.max(largest, holding.curve.pages());
    }
    return wanted <= capacityPages ? capacityPages : capacityPages - largest;
  }
}
