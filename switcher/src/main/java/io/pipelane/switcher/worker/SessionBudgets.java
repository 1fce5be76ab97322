package io.pipelane.switcher.worker;

import io.pipelane.modelstore.ImportedModel;
import io.pipelane.switcher.memory.Structure;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.LongSupplier;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * The budgets of working memory that sessions take, by structure, of all that have a variant here.
 * Answers at once, any thread.
 */
final class SessionBudgets {
  private final Map<Structure, SessionBudget> budgets = new ConcurrentHashMap<>();
  private final LongSupplier nanoClock;

  SessionBudgets(LongSupplier nanoClock) {
    this.nanoClock = nanoClock;
  }

  /** What is known of a structure's sessions; begins with a model where there is no other. */
  SessionBudget join(ImportedModel model, Structure structure) {
    return budgets.computeIfAbsent(structure, key -> new SessionBudget(model));
  }

  /** The last variant of a structure has gone, unless it was begun anew meanwhile. */
  void forget(Structure structure, SessionBudget budget) {
    budgets.remove(structure, budget);
  }

  boolean has(Structure structure) {
    return budgets.containsKey(structure);
  }

  /** What is known of the sessions of a structure of which a variant is here. */
  SessionBudget of(Structure structure) {
    return Objects.requireNonNull(budgets.get(structure), "no variant of the structure is here");
  }

  /** The structures that have one. */
  Set<Structure> structures() {
    return Set.copyOf(budgets.keySet());
  }

  /** What building a session of a structure took lately; 0 where none was. */
  long buildNanos(Structure structure) {
    @Nullable SessionBudget budget = budgets.get(structure);
    return budget == null ? 0 : budget.buildNanos();
  }

  /**
   * What the next session of a structure will take at most, as far as is known; 0 where no variant
   * of it is here.
   */
  long expectedBytes(Structure structure) {
    @Nullable SessionBudget budget = budgets.get(structure);
    return budget == null ? 0 : budget.expectedBytes(nanoClock.getAsLong());
  }

  /** Whether a variant of a structure is here. */
  boolean isHere(String structureHash) {
    return budgets.keySet().stream().anyMatch(each -> each.hash().equals(structureHash));
  }

  /**
   * What a session of each structure that is here would take, and one of one more.
   *
   * @param model of that structure
   * @param coming structures that nothing is known of, counted as well
   * @param usualBytes what a session takes at least
   */
  long expectedBytesOfAll(ImportedModel model, int coming, long usualBytes) {
    long now = nanoClock.getAsLong();
    return coming * usualBytes
        + Stream.concat(budgets.values().stream(), Stream.of(new SessionBudget(model)))
            .mapToLong(budget -> Math.max(usualBytes, budget.expectedBytes(now)))
            .sum();
  }
}
