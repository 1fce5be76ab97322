package io.pipelane.loadgen.experiment;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import java.util.OptionalDouble;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class RateSearchTest {
  private static final LoadRange RANGE = new LoadRange(100, 1000, 10);

  @ParameterizedTest
  @ValueSource(doubles = {100, 101, 333, 549.5, 992, 999})
  void search_aServerWithACapacity_findsItWithinTheStep(double capacity) {
    double highest = search(capacity, new ArrayList<>());

    assertTrue(highest <= capacity && highest > capacity - 10, "found " + highest);
  }

  @Test
  void search_holdsTheUpperEnd_endsThere() {
    List<Double> tried = new ArrayList<>();

    assertEquals(1000, search(5000, tried));
    assertEquals(List.of(100.0, 1000.0), tried);
  }

  @Test
  void search_doesNotHoldTheLowerEnd_endsAtOnce() {
    List<Double> tried = new ArrayList<>();

    assertEquals(0, search(50, tried));
    assertEquals(List.of(100.0), tried);
  }

  /** A search for connections must not say that it has found half of one. */
  @Test
  void search_wholeRange_triesWholeLoadsOnlyAndFindsTheHighest() {
    for (int capacity = 1; capacity < 17; capacity++) {
      RateSearch search = new RateSearch(LoadRange.parse("1:17:1"));
      for (OptionalDouble load = search.next(); load.isPresent(); load = search.next()) {
        assertEquals(Math.rint(load.getAsDouble()), load.getAsDouble());
        search.tried(load.getAsDouble(), load.getAsDouble() <= capacity);
      }
      assertEquals(capacity, search.highest());
    }
  }

  @Test
  void loads_range_includesBothEnds() {
    assertEquals(List.of(1.0, 3.0, 5.0), LoadRange.parse("1:5:2").loads());
    assertEquals(List.of(7.0), LoadRange.parse("7").loads());
    assertEquals(List.of(0.1, 0.2), new LoadRange(0.1, 0.2, 0.1).loads());
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "",
        "a:b",
        "5:1:1",
        "1:5:0",
        "0:5:1",
        "1:2:3:4",
        "1:Infinity:1",
        "1:9:Infinity",
        "1:1e9:1"
      })
  void parse_noRange_refused(String text) {
    assertThrows(IllegalArgumentException.class, () -> LoadRange.parse(text));
  }

  private static double search(double capacity, List<Double> tried) {
    RateSearch search = new RateSearch(RANGE);
    for (OptionalDouble load = search.next(); load.isPresent(); load = search.next()) {
      tried.add(load.getAsDouble());
      search.tried(load.getAsDouble(), load.getAsDouble() <= capacity);
    }
    return search.highest();
  }
}
