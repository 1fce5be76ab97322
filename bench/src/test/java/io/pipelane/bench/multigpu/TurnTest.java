package io.pipelane.bench.multigpu;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;

class TurnTest {
  private static final List<Way> ALL = List.of(Way.values());

  @Test
  void rounds_haveTheSameTurns_andEachIsFirstOnce() {
    Set<Turn> turns = new HashSet<>(Turn.ofRound(ALL, true, 0));
    assertEquals(Way.SPREADING.size() + Way.LOSING.size(), turns.size());
    List<Turn> first = new ArrayList<>();
    for (int round = 0; round < turns.size(); round++) {
      List<Turn> inOrder = Turn.ofRound(ALL, true, round);
      assertEquals(turns, new HashSet<>(inOrder));
      assertEquals(turns.size(), inOrder.size());
      first.add(inOrder.getFirst());
    }
    assertEquals(turns, new HashSet<>(first));
    // They are an odd number, so as many rounds backwards belong to it.
    assertEquals(Turn.ofRound(ALL, true, 0).reversed(), Turn.ofRound(ALL, true, turns.size()));
    assertEquals(Turn.ofRound(ALL, true, 0), Turn.ofRound(ALL, true, 2 * turns.size()));
  }

  @Test
  void rounds_eachTurnHasEachPlace_andIsBehindEachOther_equallyOften() {
    requireBalanced(ALL, true, 9, 18);
    requireBalanced(ALL, false, 6, 6);
    requireBalanced(List.of(Way.PREDICTED, Way.NONE_READY), true, 3, 6);
    requireBalanced(List.of(Way.PREDICTED, Way.STATIC), false, 2, 2);
    requireBalanced(List.of(Way.STATIC), false, 1, 2);
  }

  private static void requireBalanced(List<Way> ways, boolean withLoss, int count, int rounds) {
    Map<String, Integer> places = new HashMap<>();
    Map<String, Integer> pairs = new HashMap<>();
    for (int round = 0; round < rounds; round++) {
      List<Turn> turns = Turn.ofRound(ways, withLoss, round);
      assertEquals(count, turns.size());
      for (int place = 0; place < count; place++) {
        places.merge(turns.get(place).row() + " at " + place, 1, Integer::sum);
        if (place > 0) {
          String pair = turns.get(place - 1).row() + ", then " + turns.get(place).row();
          pairs.merge(pair, 1, Integer::sum);
        }
      }
    }
    assertEquals(count * count, places.size(), places::toString);
    assertEquals(count * (count - 1), pairs.size(), pairs::toString);
    assertTrue(new HashSet<>(places.values()).size() == 1, places::toString);
    assertTrue(new HashSet<>(pairs.values()).size() <= 1, pairs::toString);
  }

  @Test
  void someWays_areMeasuredAlone() {
    List<Way> ways = List.of(Way.STATIC, Way.PREDICTED);
    List<Turn> both = List.of(new Turn(Way.PREDICTED, false), new Turn(Way.STATIC, false));
    assertEquals(both, Turn.ofRound(ways, false, 0));
    assertEquals(both.reversed(), Turn.ofRound(ways, false, 1));
    assertTrue(Turn.ofRound(ways, true, 0).contains(new Turn(Way.PREDICTED, true)));
    assertEquals(List.of(), Turn.ofRound(List.of(Way.NONE_READY), false, 0));
  }

  @Test
  void rows_differ() {
    assertEquals(
        Way.SPREADING.size() + Way.LOSING.size(),
        Turn.ofRound(ALL, true, 0).stream().map(Turn::row).distinct().count());
  }
}
