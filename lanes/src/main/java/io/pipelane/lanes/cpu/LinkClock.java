package io.pipelane.lanes.cpu;

import java.util.concurrent.locks.LockSupport;

/** Time as a throttled link sees it; tests bring their own. */
interface LinkClock {
  /** The system's clock. */
  LinkClock SYSTEM =
      new LinkClock() {
        @Override
        public long nanoTime() {
          return System.nanoTime();
        }

        @Override
        public void parkNanos(long nanos) {
          LockSupport.parkNanos(nanos);
        }
      };

  long nanoTime();

  /** Blocks for about so long; it may return early, and late by a wake-up's latency. */
  void parkNanos(long nanos);
}
