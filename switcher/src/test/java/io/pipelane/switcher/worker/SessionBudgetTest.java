package io.pipelane.switcher.worker;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.pipelane.switcher.memory.FakeModels;
import java.time.Duration;
import org.junit.jupiter.api.Test;

class SessionBudgetTest {
  private static final long MIB = 1 << 20;
  private static final long LATER = Duration.ofMinutes(1).toNanos();

  private final SessionBudget budget = new SessionBudget(FakeModels.ofBytes("a model", MIB));

  /** The device's memory may have been short for a moment. */
  @Test
  void expectedBytes_afterABuildFailed_isWhatWasMeasuredAgainLater() {
    long bound = budget.expectedBytes(0);
    budget.observed(bound + MIB);
    assertEquals(bound + MIB, budget.expectedBytes(0));
    budget.guessed(1_000 * MIB, 0);
    assertEquals(1_000 * MIB, budget.expectedBytes(1));
    assertEquals(bound + MIB, budget.expectedBytes(LATER));
  }

  /** Building one takes more than it holds in the end. */
  @Test
  void expectedBytes_sessionsTookLess_isTheBoundStill() {
    long bound = budget.expectedBytes(0);
    budget.observed(bound / 2);
    assertEquals(bound, budget.expectedBytes(0));
  }

  @Test
  void expectedBytes_sessionsTookMoreThanWasGuessed_isThat() {
    budget.guessed(100 * MIB, 0);
    budget.observed(120 * MIB);
    assertEquals(120 * MIB, budget.expectedBytes(1));
    assertEquals(120 * MIB, budget.expectedBytes(LATER));
  }
}
