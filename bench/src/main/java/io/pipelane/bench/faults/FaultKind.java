package io.pipelane.bench.faults;

import java.io.IOException;
import java.util.Locale;

/** The kind of fault that is done to a server's worker processes. */
enum FaultKind {
  NONE("no fault", 0),
  KILL("kill -9 of the %s worker", 1),
  ABORT("SIGABRT in the %s worker", 1),
  GRAPH_ABORT("abort() in a custom operator of the model's graph", 1),
  SEGMENTATION("SIGSEGV in the %s worker", 1),
  HANG("the %s worker hangs (SIGSTOP)", 1),
  GARBAGE("garbage in the %s worker's memory", 1),
  OUT_OF_MEMORY("the %s worker is given no more memory", 1),
  ILLEGAL_WRITE("a kernel of the %s worker writes to an illegal address", 1),
  ENDLESS_KERNEL("a kernel of the %s worker takes the whole GPU and never ends", 1),
  STANDBY("kill -9 of a standby", 1),
  ACTIVE_AND_STANDBY("kill -9 of the %s worker and of a standby", 2),
  ALL("kill -9 of all workers", Integer.MAX_VALUE),
  RECYCLE("the %s worker is recycled (no fault)", 0);

  private final String description;
  private final int mostLosses;

  /**
   * A kind of fault.
   *
   * @param description in words, with the state of the worker that has it
   * @param mostLosses workers that it costs, if there are so many
   */
  FaultKind(String description, int mostLosses) {
    this.description = description;
    this.mostLosses = mostLosses;
  }

  /**
   * Does it.
   *
   * @param victim the state of the worker that has it
   */
  void commit(FaultyServer server, String victim) throws IOException, InterruptedException {
    switch (this) {
      case NONE -> {} // To compare with.
      case KILL -> server.signal("KILL", server.first(victim));
      case ABORT -> server.signal("ABRT", server.first(victim));
      case GRAPH_ABORT -> server.inRun(FaultWithinRun.ABORT, server.first(victim));
      case SEGMENTATION -> server.signal("SEGV", server.first(victim));
      case HANG -> server.signal("STOP", server.first(victim));
      case GARBAGE -> server.fillWithGarbage(server.first(victim));
      case OUT_OF_MEMORY -> server.denyMemory(server.first(victim));
      case ILLEGAL_WRITE -> server.inRun(FaultWithinRun.ILLEGAL_WRITE, server.first(victim));
      case ENDLESS_KERNEL -> server.inRun(FaultWithinRun.ENDLESS_KERNEL, server.first(victim));
      case STANDBY -> server.signal("KILL", server.first("STANDBY"));
      case ACTIVE_AND_STANDBY ->
          server.signal("KILL", server.first(victim), server.first("STANDBY"));
      case ALL ->
          server.signal("KILL", server.workers().workers().toArray(FaultyServer.Worker[]::new));
      case RECYCLE -> server.recycle(server.first(victim));
    }
  }

  /** Whether only a GPU has it. */
  boolean isOfGpus() {
    return this == ILLEGAL_WRITE || this == ENDLESS_KERNEL;
  }

  /** Whether a worker that has it may go on as if nothing were: one that needs no more memory. */
  boolean mayBeBorne() {
    return this == OUT_OF_MEMORY;
  }

  /**
   * In words, for the table.
   *
   * @param victim the state of the worker that has it
   */
  String description(String victim) {
    return description.formatted(victim.toLowerCase(Locale.ROOT));
  }

  /**
   * Workers that it costs.
   *
   * @param workers how many there are
   */
  int losses(int workers) {
    return Math.min(mostLosses, workers);
  }
}
