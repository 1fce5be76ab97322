package io.pipelane.switcher;

import java.util.concurrent.CountDownLatch;

/** Waiting for latches on threads of runs, which nobody interrupts. */
public final class Latches {
  private Latches() {}

  /** Waits without an end; a test's own time-out ends it. */
  public static void await(CountDownLatch latch) {
    try {
      latch.await();
    } catch (InterruptedException e) {
      throw new AssertionError("nobody interrupts a run", e);
    }
  }
}
