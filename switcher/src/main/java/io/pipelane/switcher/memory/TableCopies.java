package io.pipelane.switcher.memory;

import io.pipelane.switcher.memory.pages.PageTenants;
import io.pipelane.switcher.memory.pages.SharedPages;
import java.util.Comparator;
import java.util.LinkedHashSet;
import java.util.Optional;
import java.util.Set;
import java.util.function.BooleanSupplier;
import java.util.function.LongSupplier;
import java.util.function.Predicate;

/**
 * The models that read a table in place, and what copies of theirs take of the memory for weights:
 * the first to give way when anybody needs room. Guarded by the memory daemon's lock.
 */
final class TableCopies {
  private final Set<Residency> models = new LinkedHashSet<>();
  private final SharedPages shared;
  private final PageTenants tenants;
  private final LongSupplier nanoClock;

  TableCopies(SharedPages shared, PageTenants tenants, LongSupplier nanoClock) {
    this.shared = shared;
    this.tenants = tenants;
    this.nanoClock = nanoClock;
  }

  /** Takes a model in, if it reads in place. */
  void add(Residency residency) {
    if (residency.model.plan().inPlaceBytes() > 0) {
      models.add(residency);
    }
  }

  /** Forgets a model of whose table nothing is copied any more. */
  void remove(Residency residency) {
    models.remove(residency);
  }

  /** Those that read in place. */
  Set<Residency> models() {
    return models;
  }

  /** How many pages some models' copies have. */
  long pagesOf(Predicate<Residency> some) {
    return models.stream().filter(some).mapToLong(each -> each.inPlace.copy().pages().size()).sum();
  }

  /** How many pages would be free at once if all copies gave way that can. */
  long pagesThatGiveWay() {
    return models.stream()
        .filter(Residency::canLoseTable)
        .mapToLong(each -> each.inPlace.copy().landed())
        .sum();
  }

  /** Has copies leave that nobody reads, those that are used least first, while room is lacking. */
  void giveWay(BooleanSupplier isLacking) {
    while (isLacking.getAsBoolean()) {
      long now = nanoClock.getAsLong();
      Optional<Residency> least =
          models.stream()
              .filter(TableCopies::canGiveWay)
              .min(Comparator.comparingDouble(each -> each.inPlace.copy().usesAt(now)));
      if (least.isEmpty()) {
        return;
      }
      leave(least.get());
    }
  }

  private static boolean canGiveWay(Residency residency) {
    TableCopy copy = residency.inPlace.copy();
    boolean hasPagesToGo = copy.landed() > 0 || (copy.isArriving() && !copy.leaves());
    return hasPagesToGo && residency.canLoseTable();
  }

  /** Has a model's copy leave, now or once what is on its way has come, unless runs may read it. */
  void leave(Residency residency) {
    if (canGiveWay(residency)) {
      leave(residency, true);
    }
  }

  /**
   * The same of one that is not whole.
   *
   * @param arrived whether everything sent to its pages has come
   */
  void leave(Residency residency, boolean arrived) {
    residency
        .inPlace
        .copy()
        .leave(
            residency.mountedIn,
            page -> {
              shared.letGo(page);
              tenants.left(page, residency.model.tenant(), arrived);
            });
  }
}
