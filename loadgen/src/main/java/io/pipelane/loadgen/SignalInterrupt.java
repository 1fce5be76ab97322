package io.pipelane.loadgen;

import java.util.concurrent.CountDownLatch;

/**
 * The signals that end the program (Ctrl-C, SIGTERM) as an interrupt of the thread that made this:
 * until it is closed, the program waits for what the thread still has to say.
 */
final class SignalInterrupt implements AutoCloseable {
  private final CountDownLatch closed = new CountDownLatch(1);
  private final Thread thread = Thread.currentThread();
  private final Thread hook = Thread.ofPlatform().unstarted(this::onExit);

  SignalInterrupt() {
    Runtime.getRuntime().addShutdownHook(hook);
  }

  @Override
  public void close() {
    closed.countDown();
    try {
      Runtime.getRuntime().removeShutdownHook(hook);
    } catch (IllegalStateException e) {
      // the program is ending, and the hook runs
    }
  }

  private void onExit() {
    System.err.println(
        "loadgen: ending early; the report follows when what is under way is answered or timed out");
    thread.interrupt();
    try {
      closed.await();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }
}
