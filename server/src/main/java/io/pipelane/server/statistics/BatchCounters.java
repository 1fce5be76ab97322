package io.pipelane.server.statistics;

import io.pipelane.server.statistics.ModelCounters.Total;

/**
 * The runs of one batch size, counted in rows, and where their time went. {@link ModelCounters}
 * guards its own, and gives out copies.
 */
public final class BatchCounters {
  private final long size;
  private long runs;
  private long decodeNanos;
  private long executeNanos;
  private long encodeNanos;

  BatchCounters(long size) {
    this.size = size;
  }

  BatchCounters copy() {
    BatchCounters copy = new BatchCounters(size);
    copy.runs = runs;
    copy.decodeNanos = decodeNanos;
    copy.executeNanos = executeNanos;
    copy.encodeNanos = encodeNanos;
    return copy;
  }

  void ran(long execute) {
    runs++;
    executeNanos += execute;
  }

  void answered(long decode, long encode) {
    decodeNanos += decode;
    encodeNanos += encode;
  }

  /** Rows of all requests that run together. */
  public long size() {
    return size;
  }

  /** Decoding of all that was answered by these runs. */
  public Total decode() {
    return new Total(runs, decodeNanos);
  }

  /** The runs, each counted once, stalls included. */
  public Total execute() {
    return new Total(runs, executeNanos);
  }

  /** Handing over and encoding of all that was answered by these runs. */
  public Total encode() {
    return new Total(runs, encodeNanos);
  }
}
