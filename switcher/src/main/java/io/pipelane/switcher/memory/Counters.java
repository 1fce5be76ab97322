package io.pipelane.switcher.memory;

/** The daemon's running counts, guarded by its lock. */
final class Counters {
  long loads;
  long bytesLoaded;
  long copies;
  long failedLoads;
  long pagesEvicted;
  long waits;
  long remaps;
  long remapNanos;
  long pagesWanted;
  long pagesPlanned;
  long bytesWanted;
  long bytesPlanned;

  TransferCounters snapshot() {
    return new TransferCounters(
        loads,
        bytesLoaded,
        copies,
        failedLoads,
        pagesEvicted,
        waits,
        remaps,
        remapNanos,
        pagesWanted,
        pagesPlanned,
        bytesWanted,
        bytesPlanned);
  }
}
