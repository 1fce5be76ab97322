package io.pipelane.bench.links;

import io.pipelane.bench.local.LocalCaller;
import io.pipelane.bench.local.LocalPipelane;
import io.pipelane.bench.measure.Run;
import io.pipelane.bench.measure.Samples;
import io.pipelane.bench.measure.Timing;
import io.pipelane.bench.report.Results;
import io.pipelane.demo.protocol.Tensor;
import io.pipelane.lanes.completion.ThreadEnd;
import io.pipelane.modelstore.ModelVersion;
import io.pipelane.server.device.ServingDevices;
import io.pipelane.server.metrics.DeviceState;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * The rounds of {@code bench links}: a model on a server with one device or several, and another
 * one beside it.
 */
final class LinkRounds {
  private static final double SHARE = 100;

  private final LocalPipelane server;
  private final ServingDevices devices;
  private final String row;
  private final ModelVersion model;
  private final LocalCaller caller;
  private final LocalCaller beside;

  /**
   * Measures nothing yet.
   *
   * @param names of two models, which lie on different devices where there are several
   */
  LinkRounds(LocalPipelane server, String row, List<String> names, List<Tensor> inputs) {
    this.server = server;
    this.devices = server.devices();
    this.row = row;
    this.model = new ModelVersion(names.getFirst(), 1);
    this.caller = server.caller(names.getFirst(), inputs);
    this.beside = server.caller(names.getLast(), inputs);
  }

  /** Lets everything be built, captured and compiled that is needed. */
  void warmUp(Duration length) throws Exception {
    double _ = Timing.medianMillis(caller, length);
    Samples _ = afterEviction(caller, length);
    double _ = Timing.medianMillis(beside, length);
  }

  /** Measures a round. */
  void measure(Duration length, Results results) throws Exception {
    double warm = Timing.medianMillis(caller, length);
    double cold = afterEviction(caller, length).median();
    results.add(row, LinksColumns.WARM, warm);
    results.add(row, LinksColumns.COLD, cold);
    results.add(row, LinksColumns.STALL, cold - warm);
    double before = server.total(LinkRounds::moved);
    double borrowedBefore = server.total(state -> state.transfers().bytesBorrowed());
    Samples transfers = afterEviction(() -> devices.warmUp(model), length);
    double moved = server.total(LinkRounds::moved) - before;
    double borrowed = server.total(state -> state.transfers().bytesBorrowed()) - borrowedBefore;
    results.add(row, LinksColumns.TRANSFER, transfers.median());
    results.add(row, LinksColumns.RATE, moved / transfers.count() / transfers.median() / 1e6);
    results.add(row, LinksColumns.SHARE, SHARE * borrowed / moved);
  }

  private Samples afterEviction(Run run, Duration length) throws Exception {
    return Timing.samples(() -> devices.evict(model), run, length);
  }

  private static long moved(DeviceState state) {
    return state.transfers().bytesLoaded() + state.transfers().bytesPlanned();
  }

  /** Measures what the model beside loses while its device's link is lent; with several devices. */
  void measureBeside(Duration length, Results results) throws Exception {
    AtomicBoolean over = new AtomicBoolean();
    Samples quiet = Timing.samples(() -> {}, beside, length);
    Thread loading =
        Thread.ofPlatform()
            .name("loading")
            .start(
                () -> {
                  while (!over.get()) {
                    devices.evict(model);
                    devices.warmUp(model);
                  }
                });
    try {
      Samples lent = Timing.samples(() -> {}, beside, length);
      results.add(row, LinksColumns.QUIET_P50, quiet.median());
      results.add(row, LinksColumns.QUIET_P99, quiet.quantile(0.99));
      results.add(row, LinksColumns.LENT_P50, lent.median());
      results.add(row, LinksColumns.LENT_P99, lent.quantile(0.99));
    } finally {
      over.set(true);
      ThreadEnd.await(loading);
    }
  }
}
