package io.pipelane.bench.multigpu;

import io.pipelane.bench.report.Column;
import java.util.List;

/** The columns of {@code bench multi-gpu}. */
final class MultiGpuColumns {
  static final Column P50 = new Column("p50_ms", "p50 ms", 2);
  static final Column MEAN = new Column("mean_ms", "mean ms", 2);
  static final Column P99 = new Column("p99_ms", "p99 ms", 2);
  static final Column STALL = new Column("stall_ms", "mean stall ms", 3);
  static final Column MOVED = new Column("moved_mb_a_request", "moved MB a request", 3);
  static final Column REPLICAS = new Column("replicas", "replicas", 0);
  static final Column REQUESTS = new Column("requests", "requests", 0);
  static final Column FAILED = new Column("failed", "failed", 0);
  static final Column SESSIONS = new Column("sessions", "sessions left", 0);
  static final Column READY = new Column("ready", "of these never asked", 0);
  static final Column RAN_AHEAD = new Column("ran_ahead", "of these ran ahead", 0);
  static final Column REROUTED = new Column("rerouted", "answered by others", 0);
  static final Column PAUSE = new Column("pause_ms", "longest time without an answer ms", 1);
  static final Column RECOVERY = new Column("slowest_ms", "slowest after ms", 1);

  static final List<Column> ALL =
      List.of(
          P50, MEAN, P99, STALL, MOVED, REPLICAS, REQUESTS, FAILED, SESSIONS, READY, RAN_AHEAD,
          REROUTED, PAUSE, RECOVERY);

  static final String TITLE = "Several devices in one server";

  static final List<String> NOTES =
      List.of(
          "Medians over rounds. Each way of choosing a device has a server of its own in each round,"
              + " --warmup seconds of load before it is measured, and the same requests at the same"
              + " times: Poisson, for models whose popularity follows Zipf's law (0.9), which take"
              + " twice the memory of all devices. No HTTP between. The rate is --load of what the"
              + " devices could do with all weights there. Each round begins with the next way; what"
              + " comes first of all is run once before, and not measured.",
          "predicted: where the wait, the stall and the run are shortest, among the devices that have"
              + " the model; replicas come and go, with a half-life of 2 s. Round robin: all devices"
              + " in turn. Static: each model has one device.",
          "first device asked alone: after --warmup seconds with requests for all models only those"
              + " of the first device are asked, as often as before, each for --warmup seconds more"
              + " before it is measured; use is forgotten with a half-life of 2 s, so that the other"
              + " devices' memory holds what nobody asks for. nothing lent: without it"
              + " (placement.peer-memory: false).",
          "On the CPU, devices have memory, a link and lanes of their own, but share the processors"
              + " and the memory bus: this says how requests are spread, not what more devices bring.",
          "one device lost: the last device is lost in the middle of the trace, as if it had fallen"
              + " off the bus; failed: requests without an answer; sessions left: those that the other"
              + " devices had at that moment, of all models, one for each lane on a GPU; of these"
              + " those that no request had asked for so far, and of these those in which runs ahead"
              + " had been begun; answered by others: those that"
              + " had been given to it; the slowest of all requests that were answered after the"
              + " loss, and the longest time in which none was.");

  private MultiGpuColumns() {}
}
