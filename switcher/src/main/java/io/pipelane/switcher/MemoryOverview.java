package io.pipelane.switcher;

import io.pipelane.switcher.memory.Ledger;
import io.pipelane.switcher.worker.SessionOverview;

/**
 * All device memory, by kind, at one moment.
 *
 * @param weights pages
 * @param workingBytes what lanes and session constants may take together
 * @param constantBytes what sessions keep, memory of libraries that is theirs included
 * @param laneBytes what the lanes' regions may touch at present
 * @param openLanes lanes that a run is in
 * @param sessions by structure; their bytes are those that sessions keep
 * @param frameworkBytes what belongs to no session: memory of libraries that all share, what
 *     allocating leaves unused, and what ONNX Runtime took on threads that work for no model
 */
public record MemoryOverview(
    Ledger weights,
    long workingBytes,
    long constantBytes,
    long laneBytes,
    int openLanes,
    SessionOverview sessions,
    long frameworkBytes) {

  /** All device memory that is taken, that for weights whether it is lent or not. */
  public long totalBytes() {
    return weights.capacityBytes() + constantBytes + laneBytes + frameworkBytes;
  }
}
