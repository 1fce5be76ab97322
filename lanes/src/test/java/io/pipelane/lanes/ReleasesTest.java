package io.pipelane.lanes;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

class ReleasesTest {
  private final List<Integer> released = new ArrayList<>();
  private final Releases releases = new Releases();

  @Test
  void close_goesBackwards_once() {
    releases.add(1, released::add);
    releases.add(2, released::add);
    releases.close();
    releases.close();
    assertEquals(List.of(2, 1), released);
  }

  @Test
  void close_withFailures_releasesTheOthersAndTellsAll() {
    IllegalStateException first = new IllegalStateException("first");
    IllegalStateException second = new IllegalStateException("second");
    releases.add(1, released::add);
    releases.add(
        2,
        number -> {
          throw second;
        });
    releases.add(
        3,
        number -> {
          throw first;
        });
    assertSame(first, assertThrows(IllegalStateException.class, releases::close));
    assertEquals(List.of(second), List.of(first.getSuppressed()));
    assertEquals(List.of(1), released);
  }

  @Test
  void close_afterKeep_releasesNothing() {
    releases.add(1, released::add);
    releases.keep();
    releases.close();
    assertEquals(List.of(), released);
  }
}
