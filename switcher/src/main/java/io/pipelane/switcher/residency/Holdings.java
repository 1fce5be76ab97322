package io.pipelane.switcher.residency;

import io.pipelane.modelstore.repository.ModelOptions.Priority;
import java.time.Duration;
import java.util.Collection;
import java.util.Collections;
import java.util.Comparator;
import java.util.Optional;
import java.util.SortedSet;
import java.util.TreeSet;
import java.util.function.LongSupplier;
import java.util.function.Predicate;
import java.util.function.ToDoubleFunction;
import java.util.stream.DoubleStream;
import org.jspecify.annotations.Nullable;

/**
 * The models that hold a device's pages and how many, in the order in which a policy has them give
 * way. Not safe for several threads: the memory daemon's lock guards it, or a simulator's only
 * thread.
 */
public final class Holdings {
  /*
   * A holding's worth is computed when it is used, when it gains or loses pages, and when more is
   * known of what they save, here or elsewhere. It is never computed otherwise, so the order can be
   * kept. `holders` has those with pages: those first that no online work needs, here or elsewhere,
   * by worth, then by age.
   */
  private static final Comparator<Holding> GIVING_WAY =
      Comparator.<Holding, Boolean>comparing(holding -> !holding.givesWayFirst)
          .thenComparingDouble(holding -> holding.worth)
          .thenComparingInt(h -> h.id);

  private final ResidencyPolicy policy;
  private final Duration halfLife;
  private final SortedSet<Holding> all = new TreeSet<>(Comparator.comparingInt(h -> h.id));
  private final SortedSet<Holding> holders = new TreeSet<>(GIVING_WAY);
  private int created;
  private long uses;
  private long returns;

  /**
   * Knows nobody yet.
   *
   * @param halfLife after which a use counts half
   */
  public Holdings(ResidencyPolicy policy, Duration halfLife) {
    this.policy = policy;
    this.halfLife = halfLife;
  }

  public ResidencyPolicy policy() {
    return policy;
  }

  /** Takes a model in, which holds nothing. */
  public Holding add(StallCurve curve, long nowNanos) {
    Holding holding = new Holding(created++, curve, new Usage(halfLife, nowNanos));
    all.add(holding);
    return holding;
  }

  /** Forgets a model that holds nothing any more. */
  public void remove(Holding holding) {
    setPages(holding, 0);
    all.remove(holding);
    @Nullable Unit unit = holding.unit();
    if (unit != null) {
      unit.leaves(this, holding);
    }
  }

  /** Has a model be kept, and give way, with the others of a unit. */
  public void join(Holding holding, Unit unit) {
    holders.remove(holding);
    holding.joins(unit);
    unit.joins(this, holding);
    rank(holding);
  }

  /** Every model. */
  public Collection<Holding> all() {
    return Collections.unmodifiableCollection(all);
  }

  /** Whether a model has not been removed. */
  boolean has(Holding holding) {
    return all.contains(holding);
  }

  /** Uses of all models so far. */
  long uses() {
    return uses;
  }

  /** How often a model has come to hold less than before. */
  long returns() {
    return returns;
  }

  /** Notes an online use. */
  public void used(Holding holding, long nowNanos) {
    used(holding, Priority.ONLINE, nowNanos);
  }

  /** Notes a use. */
  public void used(Holding holding, Priority priority, long nowNanos) {
    uses++;
    holders.remove(holding);
    if (holding.usedBy(priority, nowNanos, halfLife)) {
      holding.usage.used(nowNanos);
      policy.used(holding);
    }
    rank(holding);
  }

  /** Notes a use, as if there had been none before. */
  public void usedOnce(Holding holding, Priority priority, long nowNanos) {
    holders.remove(holding);
    holding.offline = priority == Priority.OFFLINE;
    holding.usage = new Usage(halfLife, nowNanos);
    used(holding, priority, nowNanos);
  }

  /** Has a model count as one that was never used. */
  public void unused(Holding holding, long nowNanos) {
    holders.remove(holding);
    holding.offline = true;
    holding.usage = new Usage(halfLife, nowNanos);
    holding.publish();
    rank(holding);
  }

  /**
   * Notes what other devices' requests save by reading a model here, in nanoseconds each second; 0
   * where there are none. Its pages are worth as much then as if those were requests here, of which
   * each saves all that the pages can. A policy that keeps models whole has them go first all the
   * same.
   */
  public void neededElsewhere(Holding holding, double savedPerSecond, long nowNanos) {
    holders.remove(holding);
    double whole = holding.wholeNanos();
    holding.elsewhere =
        savedPerSecond > 0 && whole > 0
            ? Usage.steady(halfLife, savedPerSecond / whole, nowNanos)
            : null;
    rank(holding);
  }

  /**
   * What each page that could hold something else for other devices saves requests, in nanoseconds
   * each second, in no order. Pages of models that go or stay as a whole are left out, and so are
   * all under a policy that keeps models whole.
   *
   * @param which models are asked about
   */
  public double[] savedByPages(Predicate<Holding> which, long nowNanos) {
    DoubleStream.Builder saved = DoubleStream.builder();
    if (policy.plansAhead()) {
      for (Holding holding : holders) {
        if (which.test(holding) && holding.unit() == null) {
          double perSecond = holding.keptForPerSecond(nowNanos);
          for (int page = 0; page < holding.pages; page++) {
            saved.add(perSecond * holding.curve.gainNanos(page));
          }
        }
      }
    }
    return saved.build().toArray();
  }

  /** Notes how many leading pages a model holds from now on. */
  public void setPages(Holding holding, int pages) {
    holders.remove(holding);
    returns += pages < holding.pages ? 1 : 0;
    holding.pages = pages;
    holding.publish();
    rank(holding);
  }

  /** Notes that more is known of what a model's pages save, of which there are as many. */
  public void setCurve(Holding holding, StallCurve curve) {
    holders.remove(holding);
    holding.curve = curve;
    holding.publish();
    rank(holding);
  }

  /** Notes that another model has pages that are alike, which either may bring for both. */
  public void shares(Holding holding) {
    holding.shares();
  }

  private void rank(Holding holding) {
    if (holding.pages > 0) {
      holding.givesWayFirst =
          holding.offline && (holding.elsewhere == null || !policy.plansAhead());
      holding.worth = policy.worth(holding);
      holders.add(holding);
    }
  }

  /** Who gives way next of those that may. */
  Optional<Holding> next(Predicate<Holding> may) {
    for (Holding holding : holders) {
      if (may.test(holding)) {
        return Optional.of(holding);
      }
    }
    return Optional.empty();
  }

  /**
   * What requests would wait longer, in nanoseconds each second, if so many pages were taken from
   * those that give way first, each giving all it holds before the next gives any.
   *
   * @param spared gives none
   * @param perSecond how often a model is asked for
   */
  public double lossPerSecond(long pages, Holding spared, ToDoubleFunction<Holding> perSecond) {
    double loss = 0;
    long left = pages;
    for (Holding holding : holders) {
      if (left <= 0) {
        break;
      }
      if (holding != spared) {
        int taken = (int) Math.min(left, holding.pages);
        loss += perSecond.applyAsDouble(holding) * holding.lossNanos(taken);
        left -= taken;
      }
    }
    return loss;
  }

  /** The way to take a number of a model's last pages; tells {@link #setPages}. */
  @FunctionalInterface
  public interface Taker {
    void take(Holding holding, int pages);
  }

  /**
   * Has models give way until so many pages are free.
   *
   * @param freePages how many are, asked again and again
   * @param may whether pages can be taken from a model now
   * @return false when those that may not hold the rest
   */
  public boolean makeRoom(long pages, LongSupplier freePages, Predicate<Holding> may, Taker taker) {
    while (freePages.getAsLong() < pages) {
      Optional<Holding> next = next(may);
      if (next.isEmpty()) {
        return false;
      }
      Holding holding = next.get();
      policy.gaveWay(holding);
      taker.take(holding, policy.givesWay(holding));
    }
    return true;
  }
}
