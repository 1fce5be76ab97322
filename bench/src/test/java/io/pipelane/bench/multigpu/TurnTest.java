package io.pipelane.bench.multigpu;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
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
    assertEquals(Turn.ofRound(ALL, true, 0), Turn.ofRound(ALL, true, turns.size()));
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
