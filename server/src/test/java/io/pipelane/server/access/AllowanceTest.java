package io.pipelane.server.access;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;

class AllowanceTest {
  private final AtomicLong clock = new AtomicLong(Long.MAX_VALUE - 5);

  private Allowance allowance(double rate, int burst, int concurrent) {
    return new Allowance("k", new Allowance.Limits(rate, burst, concurrent), clock::get);
  }

  private static StatusException refused(Allowance allowance) {
    StatusException error = assertThrows(StatusException.class, allowance::begin);
    assertEquals(Status.RATE_LIMITED, error.status());
    return error;
  }

  @Test
  void rate_letsABurstInAndThenOneAnInterval() {
    Allowance allowance = allowance(10, 3, 0);
    for (int i = 0; i < 3; i++) {
      allowance.begin();
    }
    assertEquals(Duration.ofMillis(100), refused(allowance).retryAfter());
    clock.addAndGet(TimeUnit.MILLISECONDS.toNanos(100));
    allowance.begin();
    refused(allowance);
    clock.addAndGet(TimeUnit.SECONDS.toNanos(1));
    for (int i = 0; i < 3; i++) {
      allowance.begin();
    }
    refused(allowance);
  }

  @Test
  void concurrency_countsUntilTheEnd() {
    Allowance allowance = allowance(0, 1, 2);
    allowance.begin();
    allowance.begin();
    assertTrue(String.valueOf(refused(allowance).getMessage()).contains("2 requests under way"));
    allowance.end();
    allowance.begin();
    refused(allowance);
  }

  @Test
  void requestThatTheRateRefuses_isNotUnderWay() {
    Allowance allowance = allowance(1, 1, 1);
    allowance.begin();
    allowance.end();
    refused(allowance);
    clock.addAndGet(TimeUnit.SECONDS.toNanos(1));
    allowance.begin();
  }
}
