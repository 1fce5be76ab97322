package io.pipelane.bench.multigpu;

import java.util.ArrayList;
import java.util.List;

/** One measurement of a round: a way of choosing devices, while all are there or one is lost. */
record Turn(Way way, boolean withLoss) {
  /** The row of the table that it belongs to. */
  String row() {
    return withLoss ? way.label() + ", one device lost" : way.label();
  }

  /**
   * The turns of a round, in an order in which none is favoured by its place or by what was
   * measured before it: over as many rounds as there are turns, twice as many where that is odd,
   * each has each place equally often, and is right behind each other one equally often (Williams,
   * Experimental designs balanced for the estimation of residual effects of treatments, 1949).
   *
   * @param ways that are asked for
   * @param withLoss whether turns belong to it in which a device is lost
   * @param round counted from 0
   */
  static List<Turn> ofRound(List<Way> ways, boolean withLoss, int round) {
    List<Turn> turns = new ArrayList<>();
    for (Way way : Way.SPREADING) {
      if (ways.contains(way)) {
        turns.add(new Turn(way, false));
      }
    }
    for (Way way : Way.LOSING) {
      if (withLoss && ways.contains(way)) {
        turns.add(new Turn(way, true));
      }
    }
    return balanced(turns, round);
  }

  /** Zigzags through them from one on, the next one in each round, then backwards. */
  private static List<Turn> balanced(List<Turn> turns, int round) {
    int count = turns.size();
    List<Turn> inOrder = new ArrayList<>();
    for (int place = 0; place < count; place++) {
      int step = place % 2 == 0 ? count - place / 2 : place / 2 + 1;
      inOrder.add(turns.get((round + step) % count));
    }
    boolean backwards = count % 2 == 1 && round / count % 2 == 1;
    return List.copyOf(backwards ? inOrder.reversed() : inOrder);
  }
}
