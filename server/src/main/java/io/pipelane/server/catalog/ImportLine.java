package io.pipelane.server.catalog;

import io.pipelane.modelstore.ModelVersion;
import io.pipelane.modelstore.repository.ModelOptions.Priority;
import java.util.ArrayDeque;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.NoSuchElementException;
import java.util.Queue;
import java.util.SequencedMap;
import org.jspecify.annotations.Nullable;

/**
 * The imports that wait for a thread, and which of them is next: changes that an owner has made,
 * then what the cache has, then new versions that somebody has asked for, online before offline,
 * then other new ones, of these first what has given its turn on; of a kind the first that came.
 * Safe for any thread; no method waits for an import.
 */
final class ImportLine {
  /** Changes in a row that go before what else waits; owners may go on changing for ever. */
  static final int MOST_CHANGES_IN_A_ROW = 3;

  // All guarded by this.
  private final Queue<Runnable> changes = new ArrayDeque<>();
  private final Queue<Runnable> known = new ArrayDeque<>();
  private final SequencedMap<ModelVersion, Runnable> online = new LinkedHashMap<>();
  private final SequencedMap<ModelVersion, Runnable> offline = new LinkedHashMap<>();
  private final SequencedMap<ModelVersion, Runnable> returned = new LinkedHashMap<>();
  private final SequencedMap<ModelVersion, Runnable> others = new LinkedHashMap<>();

  /** All new versions in line, in the order in which they go. */
  private final List<SequencedMap<ModelVersion, Runnable>> newOnes =
      List.of(online, offline, returned, others);

  /** Whom somebody has asked for, while a first import may come, or come back; the first class. */
  private final Map<ModelVersion, Priority> askedFor = new HashMap<>();

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
    add(version, work, others);
  }

  /** Takes a version's first import back whose turn had come: it goes before other new ones. */
  synchronized void addBack(ModelVersion version, Runnable work) {
    add(version, work, returned);
  }

  private void add(
      ModelVersion version, Runnable work, SequencedMap<ModelVersion, Runnable> ifNotAsked) {
    @Nullable Priority by = askedFor.get(version);
    if ((by == null ? ifNotAsked : asked(by)).putIfAbsent(version, work) != null) {
      throw new IllegalStateException(version + " is in line already");
    }
  }

  private SequencedMap<ModelVersion, Runnable> asked(Priority by) {
    return switch (by) {
      case ONLINE -> online;
      case OFFLINE -> offline;
    };
  }

  /** Somebody waits for a version; one whose first import has begun stays as it is. */
  synchronized void ask(ModelVersion version, Priority by) {
    @Nullable Priority before = askedFor.get(version);
    if (newHaveEnded || before == Priority.ONLINE || before == by) {
      return;
    }
    askedFor.put(version, by);
    for (SequencedMap<ModelVersion, Runnable> line : newOnes) {
      @Nullable Runnable work = line.remove(version);
      if (work != null) {
        asked(by).put(version, work);
        return;
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
    boolean othersWait = !known.isEmpty() || !newOnes.stream().allMatch(SequencedMap::isEmpty);
    if (!changes.isEmpty() && (changesInARow < MOST_CHANGES_IN_A_ROW || !othersWait)) {
      changesInARow++;
      return changes.remove();
    }
    changesInARow = 0;
    if (!known.isEmpty()) {
      return known.remove();
    }
    for (SequencedMap<ModelVersion, Runnable> line : newOnes) {
      Map.@Nullable Entry<ModelVersion, Runnable> first = line.pollFirstEntry();
      if (first != null) {
        return first.getValue();
      }
    }
    throw new NoSuchElementException("nothing waits");
  }
}
