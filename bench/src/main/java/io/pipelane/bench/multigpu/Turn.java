package io.pipelane.bench.multigpu;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;

/** One measurement of a round: a way of choosing devices, while all are there or one is lost. */
record Turn(Way way, boolean withLoss) {
  /** The row of the table that it belongs to. */
  String row() {
    return withLoss ? way.label() + ", one device lost" : way.label();
  }

  /**
   * The turns of a round. Each round begins with the next one, so that none is always first on a
   * machine that is still warming up; but for that, each is behind the same other in all rounds.
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
    Collections.rotate(turns, -round);
    return List.copyOf(turns);
  }
}
