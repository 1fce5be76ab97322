package io.pipelane.server.catalog;

import io.pipelane.modelstore.ModelVersion;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.Queue;
import java.util.SequencedMap;
import java.util.Set;

/**
 * The imports that wait for a thread, and which of them is next: changes that an owner has made,
 * then what the cache has, then new versions that somebody has asked for, then other new ones; of a
 * kind the first that came. Safe for any thread; no method waits for an import.
 */
final class ImportLine {
  /** Changes in a row that go before what else waits; owners may go on changing for ever. */
  static final int MOST_CHANGES_IN_A_ROW = 3;

  // All guarded by this.
  private final Queue<Runnable> changes = new ArrayDeque<>();
  private final Queue<Runnable> known = new ArrayDeque<>();
  private final Deque<Runnable> asked = new ArrayDeque<>();
  private final SequencedMap<ModelVersion, Runnable> others = new LinkedHashMap<>();

  /** Asked for while not in line: their first import may come. Where none does, the mark stays. */
  private final Set<ModelVersion> askedAhead = new HashSet<>();

  private int changesInARow;

  /** Takes what has a model follow its folder. */
  synchronized void addChange(Runnable work) {
    changes.add(work);
  }

  /** Takes a look at what the start has found, which needs no process if the cache has it. */
  synchronized void addKnown(Runnable work) {
    known.add(work);
  }

  /** Takes the first import of a version, which comes once. */
  synchronized void addNew(ModelVersion version, Runnable work) {
    if (askedAhead.remove(version)) {
      asked.add(work);
    } else if (others.putIfAbsent(version, work) != null) {
      throw new IllegalStateException(version + " is in line already");
    }
  }

  /** Takes a version's first import back whose turn has come: it is the next of these. */
  synchronized void addBack(ModelVersion version, Runnable work) {
    askedAhead.remove(version);
    asked.addFirst(work);
  }

  /** Somebody waits for a version; one whose first import has begun stays as it is. */
  synchronized void ask(ModelVersion version) {
    Runnable work = others.remove(version);
    if (work == null) {
      askedAhead.add(version);
    } else {
      asked.add(work);
    }
  }

  /**
   * Takes out what is to be done next.
   *
   * @throws java.util.NoSuchElementException when nothing waits
   */
  synchronized Runnable next() {
    boolean othersWait = !known.isEmpty() || !asked.isEmpty() || !others.isEmpty();
    if (!changes.isEmpty() && (changesInARow < MOST_CHANGES_IN_A_ROW || !othersWait)) {
      changesInARow++;
      return changes.remove();
    }
    changesInARow = 0;
    if (!known.isEmpty()) {
      return known.remove();
    }
    return asked.isEmpty() ? firstOther() : asked.remove();
  }

  private Runnable firstOther() {
    ModelVersion first = others.sequencedKeySet().getFirst();
    Runnable work = others.remove(first);
    if (work == null) {
      throw new IllegalStateException(first + " waits without work");
    }
    return work;
  }
}
