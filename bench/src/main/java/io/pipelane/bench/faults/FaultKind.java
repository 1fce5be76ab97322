package io.pipelane.bench.faults;

import java.io.IOException;

/** What is done to a server's worker processes. */
enum FaultKind {
  NONE("no fault", 0) {
    @Override
    void commit(FaultyServer server) {
      // To compare with.
    }
  },
  KILL("kill -9 of the active worker", 1) {
    @Override
    void commit(FaultyServer server) throws IOException, InterruptedException {
      server.signal("KILL", server.first("ACTIVE"));
    }
  },
  ABORT("SIGABRT in the active worker", 1) {
    @Override
    void commit(FaultyServer server) throws IOException, InterruptedException {
      server.signal("ABRT", server.first("ACTIVE"));
    }
  },
  GRAPH_ABORT("abort() in a custom operator of the model's graph", 1) {
    @Override
    void commit(FaultyServer server) throws IOException {
      server.inRun(FaultWithinRun.ABORT);
    }
  },
  SEGMENTATION("SIGSEGV in the active worker", 1) {
    @Override
    void commit(FaultyServer server) throws IOException, InterruptedException {
      server.signal("SEGV", server.first("ACTIVE"));
    }
  },
  HANG("the active worker hangs (SIGSTOP)", 1) {
    @Override
    void commit(FaultyServer server) throws IOException, InterruptedException {
      server.signal("STOP", server.first("ACTIVE"));
    }
  },
  GARBAGE("garbage in the active worker's memory", 1) {
    @Override
    void commit(FaultyServer server) throws IOException, InterruptedException {
      server.fillWithGarbage(server.first("ACTIVE"));
    }
  },
  OUT_OF_MEMORY("the active worker is given no more memory", 1) {
    @Override
    void commit(FaultyServer server) throws IOException, InterruptedException {
      server.denyMemory(server.first("ACTIVE"));
    }
  },
  ILLEGAL_WRITE("a kernel of the active worker writes to an illegal address", 1) {
    @Override
    void commit(FaultyServer server) throws IOException {
      server.inRun(FaultWithinRun.ILLEGAL_WRITE);
    }
  },
  ENDLESS_KERNEL("a kernel of the active worker takes the whole GPU and never ends", 1) {
    @Override
    void commit(FaultyServer server) throws IOException {
      server.inRun(FaultWithinRun.ENDLESS_KERNEL);
    }
  },
  STANDBY("kill -9 of a standby", 1) {
    @Override
    void commit(FaultyServer server) throws IOException, InterruptedException {
      server.signal("KILL", server.first("STANDBY"));
    }
  },
  ACTIVE_AND_STANDBY("kill -9 of the active worker and of a standby", 2) {
    @Override
    void commit(FaultyServer server) throws IOException, InterruptedException {
      server.signal("KILL", server.first("ACTIVE"), server.first("STANDBY"));
    }
  },
  ALL("kill -9 of all workers", FaultsCommand.WORKERS) {
    @Override
    void commit(FaultyServer server) throws IOException, InterruptedException {
      server.signal("KILL", server.workers().workers().toArray(FaultyServer.Worker[]::new));
    }
  },
  RECYCLE("the active worker is recycled (no fault)", 0) {
    @Override
    void commit(FaultyServer server) throws IOException, InterruptedException {
      server.recycle(server.first("ACTIVE"));
    }
  };

  private final String description;
  private final int losses;

  FaultKind(String description, int losses) {
    this.description = description;
    this.losses = losses;
  }

  abstract void commit(FaultyServer server) throws IOException, InterruptedException;

  /** Whether only a GPU has it. */
  boolean isOfGpus() {
    return this == ILLEGAL_WRITE || this == ENDLESS_KERNEL;
  }

  /** In words, for the table. */
  String description() {
    return description;
  }

  /** Workers that it costs. */
  int losses() {
    return losses;
  }
}
