package io.pipelane.lanes.cpu;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.lanes.execution.WeightArrivals;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

class EndlessRunsTest {
  private static final Duration LONGEST = Duration.ofHours(1);

  private final AtomicLong later = new AtomicLong();
  private final EndlessRuns runs = new EndlessRuns(LONGEST, () -> System.nanoTime() + later.get());
  private final SegmentClock clock = new SegmentClock(WeightArrivals.PRESENT, 2);
  private final List<StatusException> ended = new ArrayList<>();

  @AfterEach
  void close() {
    runs.close();
  }

  @Test
  void runThatComputesForTooLong_isEndedOnce() {
    clock.begin();
    try (EndlessRuns.Watched _ = runs.watch(clock, ended::add)) {
      runs.look();
      assertEquals(List.of(), ended);
      later.set(LONGEST.toNanos());
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
    try (EndlessRuns.Watched _ = runs.watch(clock, ended::add)) {
      later.set(LONGEST.toNanos());
      runs.look();
    }
    clock.begin();
    runs.look();
    assertEquals(List.of(), ended);
  }
}
