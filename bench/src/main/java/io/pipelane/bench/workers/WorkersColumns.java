package io.pipelane.bench.workers;

import io.pipelane.bench.report.Column;
import java.util.List;

/** The columns of {@code bench workers}, told of each way to change processes. */
final class WorkersColumns {
  static final String TITLE = "From one model to another: ways to change processes";

  static final Column OVERHEAD = new Column("overhead_ms", "overhead ms", 1);
  static final Column CLEANING = new Column("cleaning_ms", "cleaning ms", 1);
  static final Column INITIALISATION = new Column("initialisation_ms", "initialisation ms", 1);
  static final Column ALLOCATION = new Column("allocation_ms", "allocation ms", 1);
  static final Column TRANSMISSION = new Column("transmission_ms", "transmission ms", 1);
  static final Column BESIDE = new Column("cleaning_beside_ms", "cleaning beside ms", 1);
  static final Column ISOLATED = new Column("isolated", "own process", 0);
  static final Column WARM = new Column("warm_ms", "warm ms", 1);
  static final Column WARMED_UP = new Column("warmed_up", "shapes run before", 0);
  static final Column DEVICE_MEMORY = new Column("device_mb", "device MB", 0);
  static final Column MEMORY = new Column("private_mb", "processes' own MB", 0);

  static final List<Column> ALL =
      List.of(
          OVERHEAD,
          CLEANING,
          INITIALISATION,
          ALLOCATION,
          TRANSMISSION,
          BESIDE,
          ISOLATED,
          WARM,
          WARMED_UP,
          MEMORY,
          DEVICE_MEMORY);

  static final List<String> NOTES =
      List.of(
          "overhead: from the wish to run another model, its weights in host memory, to its answer, less a warm run",
          "cleaning: until the old model's memory or process is gone; \"beside\": while the new one runs",
          "initialisation: until a process is there that can run something",
          "transmission: what the first run waited for weights; stop and start: as the new server tells it",
          "allocation: the rest: the session, mapping, and in a new process code that is not compiled yet",
          "own process: 1 where the two models ran in different ones (isolation, PipeSwitch table 2)",
          "processes' own MB: memory of all worker processes that no file and no other process shares",
          "shapes run before: by whoever runs the second model, before anybody asked for it: while it stood by",
          "device MB: of all worker processes, beside weights: contexts, sessions, captures; on the processor all that they have of their own",
          "a copy each: plain ONNX Runtime sessions of both models on the processor, in three processes at the same time, beyond what those have without them",
          "memory opened: a worker maps the pages of the second model's groups, one group after another; the device's exported memory was opened when the worker started, as Pipelane does it, or is exported and opened anew for each group (PipeSwitch §6.3, no IPC optimization). On a GPU each page has a handle, on the processor all memory has one (memfd), which gets addresses of its own each time. The messages that would carry handles are not in it");

  private WorkersColumns() {}
}
