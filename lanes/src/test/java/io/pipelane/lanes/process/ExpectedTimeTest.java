package io.pipelane.lanes.process;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.fail;

import java.time.Duration;
import org.junit.jupiter.api.Test;

class ExpectedTimeTest {
  private static final Duration MOST = Duration.ofSeconds(30);

  private final ExpectedTime time = new ExpectedTime();

  private void took(Duration each) {
    time.took(false, each.toNanos());
  }

  @Test
  void patience_nothingIsKnown_isTheMost() {
    assertEquals(MOST, time.patience(false, MOST));
    took(Duration.ofMillis(1));
    assertEquals(MOST, time.patience(true, MOST), "of cold runs nothing is known");
  }

  @Test
  void patience_followsWhatRunsTake_withinBounds() {
    took(Duration.ofMillis(1));
    assertEquals(Duration.ofSeconds(5), time.patience(false, MOST));
    assertEquals(Duration.ofMillis(500), time.patience(false, Duration.ofMillis(500)));
    for (int i = 0; i < 100; i++) {
      took(Duration.ofMillis(100));
    }
    assertEquals(9, time.patience(false, MOST).toSeconds());
    for (int i = 0; i < 100; i++) {
      took(Duration.ofSeconds(1));
    }
    assertEquals(MOST, time.patience(false, MOST));
  }

  @Test
  void patience_seeded_goesByThatUntilARunHasTold() {
    time.seed(() -> Duration.ofMillis(200).toNanos());
    assertEquals(Duration.ofSeconds(20), time.patience(false, MOST));
    assertEquals(Duration.ofSeconds(20), time.patience(true, MOST));
    assertEquals(0, time.nanos(false), "nobody stays awake for it");
    took(Duration.ofMillis(1));
    assertEquals(Duration.ofSeconds(5), time.patience(false, MOST));
    assertEquals(Duration.ofSeconds(20), time.patience(true, MOST), "of cold runs it is the seed");
  }

  @Test
  void patience_seededWithLittle_leavesTimeToLoadLibraries() {
    time.seed(() -> 1_000);
    assertEquals(Duration.ofSeconds(10), time.patience(false, MOST));
    assertEquals(Duration.ofMillis(500), time.patience(false, Duration.ofMillis(500)));
  }

  @Test
  void seed_nobodyKnows_isNotAskedForAgain() {
    time.seed(() -> 0);
    assertEquals(MOST, time.patience(false, MOST));
    time.seed(() -> fail("it costs a look-up"));
  }
}
