package io.pipelane.lanes.execution;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

class EndlessRunsTest {
  private static final Duration LONGEST = Duration.ofHours(1);

  private final AtomicLong now = new AtomicLong();
  private final EndlessRuns runs = new EndlessRuns(LONGEST, now::get);
  private final Gates gates = new Gates();
  private final List<StatusException> ended = new ArrayList<>();

  /** A run that has passed its last gate at 0, or waits there. */
  private static final class Gates implements TimedGates {
    private volatile boolean waits;

    @Override
    public void reached(int gate) {}

    @Override
    public long computingNanos(long nowNanos) {
      return waits ? 0 : nowNanos;
    }
  }

  @AfterEach
  void close() {
    runs.close();
  }

  @Test
  void runThatComputesForTooLong_isEndedOnce() {
    try (EndlessRuns.Watched _ = runs.watch(gates, ended::add)) {
      now.set(LONGEST.toNanos());
      runs.look();
      assertEquals(List.of(), ended);
      now.incrementAndGet();
      runs.look();
      runs.look();
    }
    assertEquals(1, ended.size());
    assertEquals(Status.DEADLINE_EXCEEDED, ended.getFirst().status());
    String message = String.valueOf(ended.getFirst().getMessage());
    assertTrue(message.contains("more than 3600000 ms"), message);
  }

  @Test
  void runThatWaitsForItsTurnOrIsOver_isNotEnded() {
    now.set(2 * LONGEST.toNanos());
    gates.waits = true;
    try (EndlessRuns.Watched _ = runs.watch(gates, ended::add)) {
      runs.look();
      gates.waits = false;
    }
    runs.look();
    assertEquals(List.of(), ended);
  }
}
