package io.pipelane.switcher.residency;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.switcher.grouping.EqualBytesGrouping;
import io.pipelane.switcher.memory.FakeModels;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;

/** A unit as the policy of each of its devices sees it. */
class UnitTest {
  private final Holdings here = new Holdings(new ExpectedStall(0), Duration.ofSeconds(1));
  private final Holdings there = new Holdings(new ExpectedStall(0), Duration.ofSeconds(1));
  private int broken;
  private final Unit unit = new Unit(() -> broken++);

  /** A model all of which is there, whose pages save so much each. */
  private static Holding add(Holdings to, int pages, double nanosPerPage) {
    Holding holding = to.add(StallCurve.of(pages, held -> (pages - held) * nanosPerPage), 0);
    to.used(holding, 1);
    to.setPages(holding, pages);
    return holding;
  }

  @Test
  void part_isWorthWhatTheWholeSaves_andGoesAsAWhole() {
    Holding rival = add(here, 4, 20);
    Holding part = add(here, 2, 10);
    assertEquals(Optional.of(part), here.next(_ -> true), "alone it saves less");
    there.join(add(there, 10, 10), unit);
    here.join(part, unit);
    assertEquals(100, unit.stallNanos());
    assertEquals(
        Optional.of(rival), here.next(_ -> true), "100 for 2 pages are more than 80 for 4");
    List<Integer> taken = new ArrayList<>();
    assertTrue(
        here.makeRoom(
            1,
            () -> taken.size(),
            holding -> holding == part,
            (holding, pages) -> {
              taken.add(pages);
              here.setPages(holding, holding.pages() - pages);
            }));
    assertEquals(List.of(2), taken);
  }

  @Test
  void partsOfOneDevice_comeOneAfterAnother_thoseOfSeveralTogether() {
    here.join(add(here, 2, 10), unit);
    Holding second = add(here, 3, 10);
    here.join(second, unit);
    there.join(add(there, 4, 10), unit);
    assertEquals(50, unit.stallNanos());
    here.remove(second);
    assertEquals(40, unit.stallNanos());
  }

  /** As with a model whose weights are all read in place. */
  @Test
  void part_withoutWeightsToBringIn_costsNothingAndLeavesTheOthersTheirWorth() {
    StallCurves curves = new StallCurves(new EqualBytesGrouping(100, 1), 64, 0);
    Holding empty = here.add(curves.of(FakeModels.ofBytes("empty").plan()), 0);
    here.join(add(here, 2, 10), unit);
    here.join(empty, unit);
    assertEquals(20, unit.stallNanos());
    assertEquals(0, empty.stallNanos());
  }

  @Test
  void lossPerSecond_ofAnyPageIsThatOfTheWhole() {
    Holding part = add(here, 2, 10);
    Holding spared = add(here, 1, 1);
    there.join(add(there, 10, 10), unit);
    double alone = here.lossPerSecond(1, spared, each -> each.usage().perSecond(1));
    here.join(part, unit);
    assertEquals(
        10 * alone, here.lossPerSecond(1, spared, each -> each.usage().perSecond(1)), 1e-9 * alone);
  }

  @Test
  void unit_isWholeUntilAPageIsTaken_andNothingOnceItHasEnded() {
    Holding part = add(here, 2, 10);
    here.join(part, unit);
    assertFalse(unit.isWhole());
    unit.completed();
    assertTrue(unit.isWhole());
    unit.broken();
    assertFalse(unit.isWhole());
    assertEquals(1, broken);
    assertSame(unit, part.unit());
    unit.end();
    assertNull(part.unit());
    assertEquals(1, here.policy().givesWay(part));
  }
}
