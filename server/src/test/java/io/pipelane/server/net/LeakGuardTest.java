package io.pipelane.server.net;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.netty.buffer.PooledByteBufAllocator;
import io.netty.util.ResourceLeakDetector;
import io.netty.util.ResourceLeakDetector.Level;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

class LeakGuardTest {
  private static void lose() {
    PooledByteBufAllocator.DEFAULT.directBuffer(64).touch(LeakGuard.ON_PURPOSE);
  }

  @Test
  @Timeout(60)
  void bufferThatNobodyReleases_isFound() {
    assertEquals(Level.PARANOID, ResourceLeakDetector.getLevel());
    lose();
    boolean found = false;
    while (!found) {
      found = LeakGuard.collect().stream().anyMatch(leak -> leak.contains(LeakGuard.ON_PURPOSE));
    }
    assertTrue(found);
  }
}
