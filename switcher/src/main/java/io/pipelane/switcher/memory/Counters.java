package io.pipelane.switcher.memory;

import io.pipelane.switcher.memory.account.TransferCounters;

/** The daemon's running counts, guarded by its lock. */
final class Counters {
  long loads;
  long bytesLoaded;
  long copies;
  long failedLoads;
  long pagesEvicted;
  long pagesJoined;
  long waits;
  long remaps;
  long remapNanos;
  long pagesWanted;
  long pagesPlanned;
  long bytesWanted;
  long bytesPlanned;
  long failsafePagings;
  long tablesCopied;
  long offlineLoads;
  long offlineBytesLoaded;
  long offlinePagesEvicted;

  /** So many bytes were sent for, and perhaps the last ones. */
  void offline(long bytes, boolean complete) {
    copies += bytes > 0 ? 1 : 0;
    bytesLoaded += bytes;
    offlineBytesLoaded += bytes;
    loads += complete ? 1 : 0;
    offlineLoads += complete ? 1 : 0;
  }

  /**
   * The counts now.
   *
   * @param bytesBorrowed counted by the copy engine, as the other
   */
  TransferCounters snapshot(long bytesBorrowed, long bytesFromPeers) {
    return new TransferCounters(
        loads,
        bytesLoaded,
        copies,
        failedLoads,
        pagesEvicted,
        pagesJoined,
        waits,
        remaps,
        remapNanos,
        pagesWanted,
        pagesPlanned,
        bytesWanted,
        bytesPlanned,
        bytesBorrowed,
        bytesFromPeers,
        failsafePagings,
        tablesCopied,
        new TransferCounters.Offline(offlineLoads, offlineBytesLoaded, offlinePagesEvicted));
  }
}
