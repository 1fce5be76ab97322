package io.pipelane.lanes.cpu;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.config.value.Bandwidth;
import org.junit.jupiter.api.Test;

class LinkThrottleTest {
  private static final long MIB = 1 << 20;

  /** Looking at the time takes 50 ns; sleeping takes 55 µs longer than asked. */
  private static final class SlowClock implements LinkClock {
    long now = -100;
    long parks;

    @Override
    public long nanoTime() {
      return now += 50;
    }

    @Override
    public void parkNanos(long nanos) {
      parks++;
      now += nanos + 55_000;
    }
  }

  private final SlowClock clock = new SlowClock();

  @Test
  void pace_ofQueuedCopies_holdsTheRate() {
    for (long gigabytes = 1; gigabytes <= 10; gigabytes++) {
      LinkThrottle throttle = throttle(gigabytes * 1_000_000_000);
      long begin = clock.now;
      for (int i = 0; i < 100; i++) {
        throttle.pace(begin, MIB, () -> false);
      }
      double nanos = clock.now - begin;
      assertEquals(100.0 * MIB / gigabytes, nanos, nanos / 1000);
    }
  }

  @Test
  void pace_ofOneCopyAfterIdleness_takesItsTime() {
    LinkThrottle throttle = throttle(10_000_000_000L);
    for (int i = 0; i < 20; i++) {
      clock.now += 5_000_000;
      long begin = clock.now;
      throttle.pace(begin, MIB, () -> false);
      assertEquals(MIB / 10.0, (double) (clock.now - begin), 1_000);
    }
  }

  @Test
  void pace_ofLongWait_sleeps() {
    throttle(1_000_000_000).pace(clock.now, 64 * MIB, () -> false);
    assertEquals(1, clock.parks);
  }

  @Test
  void pace_afterASlowSource_catchesUpByAMillisecondAtMost() {
    LinkThrottle throttle = throttle(1_000_000_000);
    long enqueued = clock.now;
    clock.now += 100_000_000;
    throttle.pace(enqueued, MIB, () -> false);
    long begin = clock.now;
    for (int i = 0; i < 10; i++) {
      throttle.pace(enqueued, MIB, () -> false);
    }
    assertEquals(10.0 * MIB - LinkThrottle.CATCH_UP_NANOS, (double) (clock.now - begin), 10_000);
  }

  @Test
  void pace_withoutLimit_orCancelled_returnsAtOnce() {
    new LinkThrottle(Bandwidth.UNLIMITED, clock).pace(clock.now, 1L << 50, () -> false);
    throttle(1).pace(clock.now, 1L << 62, () -> true);
    assertTrue(clock.now < 10_000);
  }

  private LinkThrottle throttle(long bytesPerSecond) {
    return new LinkThrottle(new Bandwidth(bytesPerSecond), clock);
  }
}
