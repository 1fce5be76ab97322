package io.pipelane.bench.links;

import io.pipelane.bench.local.LocalCaller;
import io.pipelane.bench.local.LocalPipelane;
import io.pipelane.bench.measure.Samples;
import io.pipelane.bench.measure.Timing;
import io.pipelane.bench.report.Results;
import io.pipelane.demo.protocol.Tensor;
import java.time.Duration;
import java.util.List;

/**
 * The measurement of two models in turns on a device with room for one of them, beside an idle one.
 */
final class PeerRounds {
  private static final double SHARE = 100;

  private final LocalPipelane server;
  private final String row;
  private final List<LocalCaller> callers;
  private int next; // Of all rounds, so each run is the other model's and has to bring it in.

  /**
   * Measures nothing yet.
   *
   * @param names of two models of one device
   */
  PeerRounds(LocalPipelane server, String row, List<String> names, List<Tensor> inputs) {
    this.server = server;
    this.row = row;
    this.callers = names.stream().map(name -> server.caller(name, inputs)).toList();
  }

  /** Has everything compiled, and what can lodge elsewhere has the time to. */
  void warmUp(Duration length) throws Exception {
    Samples _ = inTurns(length);
  }

  /** Measures a round. */
  void measure(Duration length, Results results) throws Exception {
    double before = server.total(state -> state.transfers().bytesLoaded());
    double peersBefore = server.total(state -> state.transfers().bytesFromPeers());
    Samples cold = inTurns(length);
    double moved = server.total(state -> state.transfers().bytesLoaded()) - before;
    double fromPeers = server.total(state -> state.transfers().bytesFromPeers()) - peersBefore;
    results.add(row, LinksColumns.COLD, cold.median());
    if (moved > 0) { // A short round may find all of it there.
      results.add(row, LinksColumns.PEERS, SHARE * fromPeers / moved);
    }
  }

  private Samples inTurns(Duration length) throws Exception {
    return Timing.samples(() -> {}, () -> callers.get(next++ % callers.size()).run(), length);
  }
}
