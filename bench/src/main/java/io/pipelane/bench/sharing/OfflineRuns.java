package io.pipelane.bench.sharing;

import io.pipelane.bench.local.OfflineLoad;
import java.io.IOException;

/** Offline work that goes on until it is closed, in this process or another. */
interface OfflineRuns extends AutoCloseable {
  /** Runs that have ended. */
  long runs();

  @Override
  void close() throws IOException;

  /** In this process. */
  static OfflineRuns of(OfflineLoad load) {
    return new OfflineRuns() {
      @Override
      public long runs() {
        return load.runs();
      }

      @Override
      public void close() {
        load.close();
      }
    };
  }
}
