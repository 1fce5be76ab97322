package io.pipelane.bench.sharing;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.bench.report.Column;
import io.pipelane.bench.report.Results;
import io.pipelane.switcher.sharing.EvictionCounts;
import io.pipelane.switcher.sharing.trial.ShareOverview;
import io.pipelane.switcher.sharing.trial.ShareOverview.State;
import java.util.List;
import java.util.OptionalDouble;
import org.junit.jupiter.api.Test;

class DeviceFiguresTest {
  private static final List<Column> FIGURES =
      List.of(
          SharingColumns.LONGEST_STOP,
          SharingColumns.MEAN_STOP,
          SharingColumns.MEMORY_RETURNS,
          SharingColumns.MEAN_RETURNED,
          SharingColumns.MEAN_MEMORY_RETURN,
          SharingColumns.LONGEST_MEMORY_RETURN);

  private final Results results =
      new Results(SharingColumns.TITLE, SharingColumns.ALL, SharingColumns.NOTES);

  @Test
  void evictions_areTheLongestStopTheMeanOneAndWhatMemoryCameBackInWhatTime() {
    DeviceFigures.add(
        results,
        "gates",
        new EvictionCounts(4, 2_000_000, 900_000, 2, 5_000_000, 3_000_000, 6_000_000));

    assertEquals(0.9, results.median("gates", SharingColumns.LONGEST_STOP).orElseThrow());
    assertEquals(0.5, results.median("gates", SharingColumns.MEAN_STOP).orElseThrow());
    assertEquals(2, results.median("gates", SharingColumns.MEMORY_RETURNS).orElseThrow());
    assertEquals(3.0, results.median("gates", SharingColumns.MEAN_RETURNED).orElseThrow());
    assertEquals(2.5, results.median("gates", SharingColumns.MEAN_MEMORY_RETURN).orElseThrow());
    assertEquals(3.0, results.median("gates", SharingColumns.LONGEST_MEMORY_RETURN).orElseThrow());
    assertTrue(SharingColumns.ALL.containsAll(FIGURES), "every one has a column");
  }

  @Test
  void share_isWhatItIsNowAndNothingWhereThereIsNone() {
    OptionalDouble none = OptionalDouble.empty();
    DeviceFigures.add(
        results, "gates", new ShareOverview(State.OFF, 0, List.of(), none, none, none));
    DeviceFigures.add(
        results, "measured", new ShareOverview(State.KEPT, 20, List.of(), none, none, none));
    DeviceFigures.add(
        results, "loaded", new ShareOverview(State.LOADED, 0, List.of(), none, none, none));

    assertTrue(results.median("gates", SharingColumns.SIZE).isEmpty());
    assertEquals(20, results.median("measured", SharingColumns.SIZE).orElseThrow());
    assertEquals(0, results.median("loaded", SharingColumns.SIZE).orElseThrow());
  }

  @Test
  void evictions_thatMetNoRun_haveNoFigures() {
    DeviceFigures.add(results, "gates", new EvictionCounts(0, 0, 0, 0, 0, 0, 0));

    for (Column column : FIGURES) {
      assertTrue(results.median("gates", column).isEmpty(), column.heading());
    }
  }
}
