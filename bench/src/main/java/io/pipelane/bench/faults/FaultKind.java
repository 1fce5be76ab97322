package io.pipelane.bench.faults;

import java.io.IOException;
import java.util.Locale;

/** What is done to a server's worker processes. */
enum FaultKind {
  NONE("no fault", 0) {
    @Override
    void commit(FaultyServer server, String victim) {
      // To compare with.
    }
  },
  KILL("kill -9 of the %s worker", 1) {
    @Override
    void commit(FaultyServer server, String victim) throws IOException, InterruptedException {
      server.signal("KILL", server.first(victim));
    }
  },
  ABORT("SIGABRT in the %s worker", 1) {
    @Override
    void commit(FaultyServer server, String victim) throws IOException, InterruptedException {
      server.signal("ABRT", server.first(victim));
    }
  },
  GRAPH_ABORT("abort() in a custom operator of the model's graph", 1) {
    @Override
    void commit(FaultyServer server, String victim) throws IOException, InterruptedException {
      server.inRun(FaultWithinRun.ABORT, server.first(victim));
    }
  },
  SEGMENTATION("SIGSEGV in the %s worker", 1) {
    @Override
    void commit(FaultyServer server, String victim) throws IOException, InterruptedException {
      server.signal("SEGV", server.first(victim));
    }
  },
  HANG("the %s worker hangs (SIGSTOP)", 1) {
    @Override
    void commit(FaultyServer server, String victim) throws IOException, InterruptedException {
      server.signal("STOP", server.first(victim));
    }
  },
  GARBAGE("garbage in the %s worker's memory", 1) {
    @Override
    void commit(FaultyServer server, String victim) throws IOException, InterruptedException {
      server.fillWithGarbage(server.first(victim));
    }
  },
  OUT_OF_MEMORY("the %s worker is given no more memory", 1) {
    @Override
    void commit(FaultyServer server, String victim) throws IOException, InterruptedException {
      server.denyMemory(server.first(victim));
    }
  },
  ILLEGAL_WRITE("a kernel of the %s worker writes to an illegal address", 1) {
    @Override
    void commit(FaultyServer server, String victim) throws IOException, InterruptedException {
      server.inRun(FaultWithinRun.ILLEGAL_WRITE, server.first(victim));
    }
  },
  ENDLESS_KERNEL("a kernel of the %s worker takes the whole GPU and never ends", 1) {
    @Override
    void commit(FaultyServer server, String victim) throws IOException, InterruptedException {
      server.inRun(FaultWithinRun.ENDLESS_KERNEL, server.first(victim));
    }
  },
  STANDBY("kill -9 of a standby", 1) {
    @Override
    void commit(FaultyServer server, String victim) throws IOException, InterruptedException {
      server.signal("KILL", server.first("STANDBY"));
    }
  },
  ACTIVE_AND_STANDBY("kill -9 of the %s worker and of a standby", 2) {
    @Override
    void commit(FaultyServer server, String victim) throws IOException, InterruptedException {
      server.signal("KILL", server.first(victim), server.first("STANDBY"));
    }
  },
  ALL("kill -9 of all workers", 0) {
    @Override
    void commit(FaultyServer server, String victim) throws IOException, InterruptedException {
      server.signal("KILL", server.workers().workers().toArray(FaultyServer.Worker[]::new));
    }

    @Override
    int losses(int workers) {
      return workers;
    }
  },
  RECYCLE("the %s worker is recycled (no fault)", 0) {
    @Override
    void commit(FaultyServer server, String victim) throws IOException, InterruptedException {
      server.recycle(server.first(victim));
    }
  };

  private final String description;
  private final int losses;

  FaultKind(String description, int losses) {
    this.description = description;
    this.losses = losses;
  }

  /**
   * Does it.
   *
   * @param victim the state of the worker that has it
   */
  abstract void commit(FaultyServer server, String victim) throws IOException, InterruptedException;

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
    return losses;
  }
}
