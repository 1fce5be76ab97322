package io.pipelane.server.catalog;

import io.pipelane.modelstore.ModelVersion;
import java.util.ArrayDeque;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.NoSuchElementException;
import java.util.Queue;
import java.util.SequencedMap;
import java.util.Set;

/**
 * The imports that wait for a thread, and which of them is next: changes that an owner has made,
 * then what the cache has, then new versions that somebody has asked for, then other new ones, of
 * these first what has given its turn on; of a kind the first that came. Safe for any thread; no
 * method waits for an import.
 */
final class ImportLine {
  /** Changes in a row that go before what else waits; owners may go on changing for ever. */
  static final int MOST_CHANGES_IN_A_ROW = 3;

  // All guarded by this.
  private final Queue<Runnable> changes = new ArrayDeque<>();
  private final Queue<Runnable> known = new ArrayDeque<>();
  private final Queue<Runnable> asked = new ArrayDeque<>();
  private final SequencedMap<ModelVersion, Runnable> returned = new LinkedHashMap<>();
  private final SequencedMap<ModelVersion, Runnable> others = new LinkedHashMap<>();

  /** Whom somebody has asked for, while a first import may come, or come back. */
  private final Set<ModelVersion> askedFor = new HashSet<>();

  private boolean newHaveEnded;
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
    if (askedFor.contains(version)) {
      asked.add(work);
    } else if (others.putIfAbsent(version, work) != null) {
      throw new IllegalStateException(version + " is in line already");
    }
  }

  /** Takes a version's first import back whose turn had come: it goes before other new ones. */
  synchronized void addBack(ModelVersion version, Runnable work) {
    if (askedFor.contains(version)) {
      asked.add(work);
    } else {
      returned.put(version, work);
    }
  }

  /** Somebody waits for a version; one whose first import has begun stays as it is. */
  synchronized void ask(ModelVersion version) {
    if (newHaveEnded) {
      return;
    }
    askedFor.add(version);
    for (SequencedMap<ModelVersion, Runnable> line : List.of(returned, others)) {
      Runnable work = line.remove(version);
      if (work != null) {
        asked.add(work);
      }
    }
  }

  /** No first import comes any more, and none waits: who is asked for from now on is not kept. */
  synchronized void endOfNew() {
    newHaveEnded = true;
    askedFor.clear();
  }

  /** Whom somebody has asked for who may still come, or come back. */
  synchronized int marks() {
    return askedFor.size();
  }

  /**
   * Takes out what is to be done next.
   *
   * @throws NoSuchElementException when nothing waits
   */
  synchronized Runnable next() {
    boolean othersWait =
        !known.isEmpty() || !asked.isEmpty() || !returned.isEmpty() || !others.isEmpty();
    if (!changes.isEmpty() && (changesInARow < MOST_CHANGES_IN_A_ROW || !othersWait)) {
      changesInARow++;
      return changes.remove();
    }
    changesInARow = 0;
    if (!known.isEmpty()) {
      return known.remove();
    }
    if (!asked.isEmpty()) {
      return asked.remove();
    }
    return takeFirst(returned.isEmpty() ? others : returned);
  }

  private static Runnable takeFirst(SequencedMap<ModelVersion, Runnable> line) {
    Map.Entry<ModelVersion, Runnable> first = line.pollFirstEntry();
    if (first == null) {
      throw new NoSuchElementException("nothing waits");
    }
    return first.getValue();
  }
}
