package io.pipelane.lanes.process;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Duration;
import org.junit.jupiter.api.Test;

class UnreadTimeTest {
  private static final Duration PATIENCE = Duration.ofSeconds(30);

  private long used = nanos(2);
  private final UnreadTime unread = new UnreadTime(PATIENCE, () -> used);

  private static long nanos(double seconds) {
    return (long) (seconds * 1e9);
  }

  private boolean isOverAfter(double seconds) {
    return unread.isOver(nanos(seconds));
  }

  /** Asked each tenth of a second, as it is. */
  private double over(double partOfAProcessor, double until) {
    unread.begin(0);
    double now = 0;
    while (!isOverAfter(now)) {
      now += 0.1;
      used += now <= until ? nanos(0.1 * partOfAProcessor) : 0;
    }
    return now;
  }

  @Test
  void isOver_processThatIsStopped_fiveSeconds() {
    assertEquals(5.1, over(0, 0), 0.11);
  }

  @Test
  void isOver_processThatDoesNothing_fiveSeconds() {
    assertEquals(5.1, over(0.004, 100), 0.11);
  }

  @Test
  void isOver_processThatHasHardlyAProcessor_thePatience() {
    assertEquals(30.1, over(0.03, 100), 0.11);
  }

  @Test
  void isOver_processThatIsStoppedMeanwhile_tenSecondsLaterAtMost() {
    assertEquals(15.2, over(0.03, 7), 0.21);
  }

  @Test
  void isOver_lessPatience_isKeptTo() {
    UnreadTime shorter = new UnreadTime(Duration.ofSeconds(2), () -> used++ * nanos(1));
    shorter.begin(0);
    assertFalse(shorter.isOver(nanos(2)));
    assertTrue(shorter.isOver(nanos(2.1)));
    assertEquals(Duration.ofSeconds(2), shorter.passed(nanos(2.1)));
  }
}
