package io.pipelane.switcher.sharing.gate;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Objects;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class ArrivalForecastTest {
  private static final long GAP = 10_000_000;
  private static final long SEGMENT = 1_000_000;

  private final ArrivalForecast forecast = new ArrivalForecast();
  private long now = 5;

  private void regular(int requests) {
    every(GAP, requests);
  }

  private void every(long gap, int requests) {
    for (int i = 0; i < requests; i++) {
      now += gap;
      forecast.arrived(now);
    }
  }

  /** Requests at a gap, until the next one is foretold; how many that took. */
  private int everyUntilForetold(long gap) {
    int requests = 0;
    while (forecast.next() == null) {
      every(gap, 1);
      requests++;
    }
    return requests;
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

  /** To the nanosecond: equal gaps have no deviation, so a request is late as soon as it is due. */
  @Test
  void waitNanos_equalGaps_isExactlyTheTimeUntilTheNextRequest() {
    regular(5);
    assertEquals(new ExpectedArrival(now + GAP, now + GAP), forecast.next());
    assertEquals(0, forecast.waitNanos(SEGMENT, now + GAP - SEGMENT - 1), "it ends just before");
    assertEquals(SEGMENT, forecast.waitNanos(SEGMENT, now + GAP - SEGMENT));
    assertEquals(1, forecast.waitNanos(SEGMENT, now + GAP - 1));
    assertEquals(0, forecast.waitNanos(SEGMENT, now + GAP), "it is late");
    assertEquals(GAP, forecast.waitNanos(2 * GAP, now), "longer than a gap");
    assertEquals(0, forecast.waitNanos(0, now + GAP - 1), "of unknown length");
  }

  /** What was foretold by the old gap is given up within a few requests, then learnt anew. */
  @ParameterizedTest
  @ValueSource(longs = {GAP / 5 * 2, GAP / 2 * 5})
  void next_gapChanges_nothingIsForetoldUntilTheNewOneIsKnown(long gap) {
    regular(50);
    every(gap, 4);
    assertNull(forecast.next(), "neither the old gap nor the new one");
    int requests = everyUntilForetold(gap);
    assertTrue(requests < 20, () -> "foretold again after " + requests);
    every(gap, 50);
    ExpectedArrival expected = Objects.requireNonNull(forecast.next());
    assertTrue(Math.abs(expected.fromNanos() - now - gap) < gap / 50, expected::toString);
    assertTrue(Math.abs(expected.untilNanos() - now - gap) < gap / 20, expected::toString);
    assertEquals(0, forecast.waitNanos(SEGMENT, now + gap - 2 * SEGMENT));
    assertTrue(forecast.waitNanos(SEGMENT, now + gap - SEGMENT / 2) >= SEGMENT / 4);
  }

  /** Of the same rate: what makes them foreseeable is their order. */
  @Test
  void next_gapsBecomeIrregular_nothingIsForetoldAfterThreeUntilTheyAreRegularAgain() {
    regular(50);
    for (int i = 1; i <= 40; i++) {
      every(i % 2 == 0 ? 9 * GAP / 5 : GAP / 5, 1);
      if (i >= 3) {
        assertNull(forecast.next(), "after " + i);
        assertEquals(0, forecast.waitNanos(SEGMENT, now + GAP - SEGMENT / 2));
      }
    }
    assertEquals(100, forecast.perSecond(now), 10);
    int requests = everyUntilForetold(GAP);
    assertTrue(requests < 20, () -> "foretold again after " + requests);
    every(GAP, 50);
    assertTrue(forecast.waitNanos(SEGMENT, now + GAP - SEGMENT / 2) >= SEGMENT / 2);
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
