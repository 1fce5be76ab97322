package io.pipelane.switcher.memory.account;

/**
 * The counts of what the memory daemon has done since it started.
 *
 * @param loads transfers begun for runs
 * @param bytesLoaded bytes they moved
 * @param copies groups they were cut into
 * @param failedLoads transfers rolled back
 * @param pagesTakenBack pages that models lost
 * @param pagesJoined pages that models were given because others had them
 * @param waits acquisitions that found something missing, or others waiting
 * @param remaps times that a variant took over its structure's addresses from another
 * @param remapNanos what that took
 * @param pagesWanted pages fetched ahead for requests in the queue and models that were wished for
 * @param pagesPlanned pages fetched ahead because they belong to a planned prefix
 * @param bytesWanted bytes of the former
 * @param bytesPlanned bytes of the latter
 * @param bytesBorrowed bytes that came in over other devices' links
 * @param bytesFromPeers bytes that came out of other devices' memory
 * @param failsafePagings times that models lost pages to lanes that needed more than was set aside
 * @param tablesCopied copies of tables that came to the device, as models that read them in place
 *     were hot
 * @param offline the part of offline work
 */
public record TransferCounters(
    long loads,
    long bytesLoaded,
    long copies,
    long failedLoads,
    long pagesTakenBack,
    long pagesJoined,
    long waits,
    long remaps,
    long remapNanos,
    long pagesWanted,
    long pagesPlanned,
    long bytesWanted,
    long bytesPlanned,
    long bytesBorrowed,
    long bytesFromPeers,
    long failsafePagings,
    long tablesCopied,
    Offline offline) {

  /**
   * The counts of what was done for offline work, which the other counts have too.
   *
   * @param loads transfers begun for runs
   * @param bytesLoaded bytes they moved
   * @param pagesTakenBack pages that models lost
   */
  public record Offline(long loads, long bytesLoaded, long pagesTakenBack) {}

  /** Bytes that came before runs asked for them. */
  public long bytesFetchedAhead() {
    return bytesWanted + bytesPlanned;
  }
}
