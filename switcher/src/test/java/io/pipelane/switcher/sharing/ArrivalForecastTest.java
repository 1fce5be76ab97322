package io.pipelane.switcher.sharing;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Random;
import org.junit.jupiter.api.Test;

class ArrivalForecastTest {
  private static final long GAP = 10_000_000;
  private static final long SEGMENT = 1_000_000;

  private final ArrivalForecast forecast = new ArrivalForecast();
  private long now = 5;

  private void regular(int requests) {
    for (int i = 0; i < requests; i++) {
      now += GAP;
      forecast.arrived(now);
    }
  }

  @Test
  void waitNanos_tooFewRequests_doesNotWait() {
    regular(4);
    assertEquals(0, forecast.waitNanos(SEGMENT, now + GAP - 1));
    assertEquals(0, forecast.perSecond(now));
  }

  @Test
  void waitNanos_regularRequests_waitsForTheNextOneOnly() {
    regular(50);
    assertEquals(100, forecast.perSecond(now), 1);
    assertEquals(0, forecast.waitNanos(SEGMENT, now + SEGMENT), "there is time");
    assertTrue(forecast.waitNanos(SEGMENT, now + GAP - SEGMENT / 2) >= SEGMENT / 2);
    assertEquals(0, forecast.waitNanos(SEGMENT, now + 2 * GAP), "it did not come");
  }

  @Test
  void perSecond_requestsHaveEnded_falls() {
    regular(50);
    assertEquals(100, forecast.perSecond(now + GAP / 2), 1);
    assertEquals(1, forecast.perSecond(now + 100 * GAP), 0.01);
    assertEquals(0, forecast.perSecond(now + 10_000_000 * GAP), 0.01);
  }

  @Test
  void waitNanos_regularRequestsAfterAPause_areKnownAsSoonAsTheFirstOnes() {
    regular(50);
    now += 6_000 * GAP;
    regular(5);
    assertEquals(100, forecast.perSecond(now), 1);
    assertTrue(forecast.waitNanos(SEGMENT, now + GAP - SEGMENT / 2) >= SEGMENT / 2);
  }

  @Test
  void waitNanos_regularRequestsFarApart_areNoPauses() {
    long gap = 2_000_000_000;
    for (int i = 0; i < 20; i++) {
      now += gap;
      forecast.arrived(now);
    }
    assertEquals(0.5, forecast.perSecond(now), 0.01);
    assertTrue(forecast.waitNanos(SEGMENT, now + gap - SEGMENT / 2) > 0);
  }

  /** Whatever comes, work is put off by no more than a request may reasonably be late. */
  @Test
  void waitNanos_randomRequests_hardlyEverWaits() {
    long seed = new Random().nextLong();
    Random random = new Random(seed);
    int waits = 0;
    int asked = 100_000;
    for (int i = 0; i < asked; i++) {
      long gap = (long) (-Math.log(1 - random.nextDouble()) * GAP);
      now += gap;
      forecast.arrived(now);
      long wait = forecast.waitNanos(SEGMENT, now + (long) (random.nextDouble() * GAP));
      assertTrue(wait <= 4 * GAP, () -> "seed " + seed);
      waits += wait > 0 ? 1 : 0;
    }
    int waited = waits;
    assertTrue(waited < asked / 20, () -> waited + " waits, seed " + seed);
  }
}
