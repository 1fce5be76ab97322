package io.pipelane.switcher;

import io.pipelane.lanes.execution.LanesOverview;
import io.pipelane.switcher.memory.account.Ledger;
import io.pipelane.switcher.worker.SessionOverview;

/**
 * All device memory, by kind, at one moment.
 *
 * @param weights pages
 * @param workingBytes what lanes, session constants and states may take together
 * @param constantBytes what sessions keep, memory of libraries that is theirs included
 * @param laneBytes what the lanes' regions may touch at present, borrowed memory included
 * @param stateBytes what sequences keep from one step to the next
 * @param sessions by structure; their bytes are those that sessions keep
 * @param frameworkBytes what belongs to no session: memory of libraries that all share, what worker
 *     processes of the host take for themselves, what allocating leaves unused, and what ONNX
 *     Runtime took on threads that work for no model
 * @param lanes beside that of a share of multiprocessors
 */
public record MemoryOverview(
    Ledger weights,
    long workingBytes,
    long constantBytes,
    long laneBytes,
    long stateBytes,
    SessionOverview sessions,
    long frameworkBytes,
    LanesOverview lanes) {
  /**
   * All device memory that is taken, that for weights whether it is lent or not; once where lanes
   * have borrowed it.
   */
  public long totalBytes() {
    long forWeights = weights.capacityBytes() - weights.lanesBytes();
    return forWeights + constantBytes + laneBytes + stateBytes + frameworkBytes;
  }
}
