package io.pipelane.server.statistics;

import io.pipelane.server.statistics.ModelCounters.Total;
import java.util.concurrent.atomic.LongAdder;

/** The runs of one batch size, counted in rows, and where their time went. Safe for any thread. */
public final class BatchCounters {
  private final long size;
  private final LongAdder runs = new LongAdder();
  private final LongAdder decodeNanos = new LongAdder();
  private final LongAdder executeNanos = new LongAdder();
  private final LongAdder encodeNanos = new LongAdder();

  BatchCounters(long size) {
    this.size = size;
  }

  void ran(long execute) {
    runs.increment();
    executeNanos.add(execute);
  }

  void answered(long decode, long encode) {
    decodeNanos.add(decode);
    encodeNanos.add(encode);
  }

  /** Rows of all requests that run together. */
  public long size() {
    return size;
  }

  /** Decoding of all that was answered by these runs. */
  public Total decode() {
    return new Total(runs.sum(), decodeNanos.sum());
  }

  /** The runs, each counted once, stalls included. */
  public Total execute() {
    return new Total(runs.sum(), executeNanos.sum());
  }

  /** Encoding of all that was answered by these runs. */
  public Total encode() {
    return new Total(runs.sum(), encodeNanos.sum());
  }
}
