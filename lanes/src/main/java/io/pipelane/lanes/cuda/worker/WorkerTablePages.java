package io.pipelane.lanes.cuda.worker;

import io.pipelane.lanes.ExportedSlots;
import io.pipelane.lanes.MappedRange;
import java.util.HashMap;
import java.util.Map;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.LongPredicate;

/**
 * The device memory of the server's that runs of a worker process read tables in, mapped here when
 * a run first needs it. Safe for any thread.
 */
final class WorkerTablePages {
  /*
   * A table is known by its place in the slot table. Whatever range has the place later, what is
   * mapped for a run is what the slot table says then. So addresses may outlive the server's range,
   * and what was captured for them is right for the table that lies there.
   */
  private final long pageBytes;
  private final Function<ExportedSlots, MappedRange> opening;
  private final Consumer<ExportedSlots> closing;
  private final Map<Long, Table> tables = new HashMap<>();

  private record Table(ExportedSlots slots, MappedRange range) {}

  /**
   * Nothing is mapped yet.
   *
   * @param opening reserves addresses for slots of a table
   * @param closing gives them back
   */
  WorkerTablePages(
      long pageBytes,
      Function<ExportedSlots, MappedRange> opening,
      Consumer<ExportedSlots> closing) {
    this.pageBytes = pageBytes;
    this.opening = opening;
    this.closing = closing;
  }

  /**
   * Where a table lies here.
   *
   * @param place where its range's part of the slot table begins
   * @param byteSize its size
   */
  synchronized long address(long place, long byteSize) {
    int count = Math.toIntExact(Math.ceilDiv(byteSize, pageBytes));
    Table known = tables.get(place);
    if (known != null && known.slots().count() != count) {
      close(place);
      known = null;
    }
    if (known == null) {
      ExportedSlots slots = new ExportedSlots(numberOf(place), place, count);
      known = new Table(slots, opening.apply(slots));
      tables.put(place, known);
    }
    known.range().map(0, byteSize);
    return known.range().address();
  }

  /** A number that no range of a model's weights has. */
  private static long numberOf(long place) {
    return -1 - place;
  }

  /**
   * Gives back what no run reads.
   *
   * @param isShown whether runs may read what lies at a place
   */
  synchronized void tidy(LongPredicate isShown) {
    tables.keySet().stream().filter(place -> !isShown.test(place)).toList().forEach(this::close);
  }

  private void close(long place) {
    Table table = tables.remove(place);
    if (table != null) {
      closing.accept(table.slots());
    }
  }

  /** How many there are. */
  synchronized int count() {
    return tables.size();
  }
}
