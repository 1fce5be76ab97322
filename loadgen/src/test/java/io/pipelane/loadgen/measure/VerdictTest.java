package io.pipelane.loadgen.measure;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.loadgen.result.ClientCpu;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;

class VerdictTest {
  private static final long MILLI = 1_000_000;
  private static final long SECOND = 1000 * MILLI;

  private final WindowTally window = new WindowTally(1);

  @Test
  void of_quietGenerator_nothing() {
    answers(100, 5 * MILLI);
    timers(100, 50_000);

    assertEquals(new Verdict(List.of(), List.of()), verdict(Duration.ofMillis(500)));
  }

  @Test
  void of_busyThread_bottleneck() {
    answers(100, 5 * MILLI);

    assertEquals(
        List.of("its thread was busy 95 % of the time"),
        verdict(Duration.ofMillis(950)).bottlenecks());
  }

  @Test
  void of_pausesThatAreAGoodPartOfTheLatency_bottleneck() {
    answers(100, 5 * MILLI);
    timers(90, 50_000);
    timers(10, 4 * MILLI);

    assertTrue(
        verdict(Duration.ZERO).bottlenecks().getFirst().startsWith("it stood still 10 times"));
  }

  @Test
  void of_pausesThatAreLittleAgainstTheLatency_nothing() {
    answers(100, 500 * MILLI);
    timers(90, 50_000);
    timers(10, 4 * MILLI);

    assertEquals(List.of(), verdict(Duration.ZERO).bottlenecks());
  }

  @Test
  void of_pausesWithoutAnyAnswer_nothingToSpoil() {
    timers(90, 50_000);
    timers(10, 40 * MILLI);

    assertEquals(List.of(), verdict(Duration.ZERO).bottlenecks());
  }

  @Test
  void of_lateSendsThatAreLittleAgainstTheLatency_warning() {
    answers(100, 500 * MILLI);
    window.sent = 100;
    window.late = 10;
    window.lateByGenerator = 10;
    Latencies.record(window.lagNanos, 2 * MILLI);

    Verdict verdict = verdict(Duration.ZERO);

    assertEquals(List.of(), verdict.bottlenecks());
    assertTrue(verdict.warnings().getFirst().contains("not punctual"), verdict.toString());
  }

  @Test
  void of_onePauseThatIsLong_countsAsAllThatItDelayed() {
    window.timer(200 * MILLI, 10 * MILLI);
    timers(80, 0);

    assertEquals(190, Math.round(window.pauses().delay().toNanos() / 1e6));
  }

  private void answers(int count, long nanos) {
    for (int i = 0; i < count; i++) {
      window.sent++;
      Latencies.record(window.completedNanos, nanos);
    }
  }

  private void timers(int count, long lateNanos) {
    for (int i = 0; i < count; i++) {
      window.timer(lateNanos, 10 * MILLI);
    }
  }

  private Verdict verdict(Duration busy) {
    return Verdict.of(window, SECOND, new ClientCpu(busy, busy, Duration.ZERO), 0);
  }
}
