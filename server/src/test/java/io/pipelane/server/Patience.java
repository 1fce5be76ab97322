package io.pipelane.server;

import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.concurrent.locks.LockSupport;

/** Waits for what other processes do, but not longer than a test may take from its begin. */
public record Patience(long beginNanos) {
  private static final long LIMIT_NANOS = 60_000_000_000L;
  private static final long LOOK_AGAIN_NANOS = 20_000_000;

  /** Something that comes true. */
  public interface Condition {
    boolean holds() throws Exception;
  }

  public static Patience begin() {
    return new Patience(System.nanoTime());
  }

  public void awaitTrue(String what, Condition condition) throws Exception {
    while (!condition.holds()) {
      assertTrue(System.nanoTime() - beginNanos < LIMIT_NANOS, what + ", in time");
      LockSupport.parkNanos(LOOK_AGAIN_NANOS);
    }
  }
}
