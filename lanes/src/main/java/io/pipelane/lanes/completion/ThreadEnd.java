package io.pipelane.lanes.completion;

/** The end of a thread. */
public final class ThreadEnd {
  private ThreadEnd() {}

  /** Blocks until a thread has ended; an interrupt does not end the wait, and is kept. */
  public static void await(Thread thread) {
    boolean interrupted = false;
    while (thread.isAlive()) {
      try {
        thread.join();
      } catch (InterruptedException e) {
        interrupted = true;
      }
    }
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
  }
}
