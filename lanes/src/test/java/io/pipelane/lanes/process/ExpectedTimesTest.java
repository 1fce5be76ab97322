package io.pipelane.lanes.process;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.pipelane.lanes.execution.InputTensor;
import io.pipelane.runtime.Shape;
import io.pipelane.runtime.TensorType;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;

class ExpectedTimesTest {
  private static final Duration MOST = Duration.ofMinutes(10);
  private static final Duration LEAST = Duration.ofSeconds(5);

  private final ExpectedTimes times = new ExpectedTimes();

  private ExpectedTime of(int rows) {
    return times.of(
        List.of(
            new InputTensor("x", TensorType.FP32, Shape.of(rows, 4), MemorySegment.NULL),
            new InputTensor("y", TensorType.FP32, Shape.of(1), MemorySegment.NULL)));
  }

  private Duration patience(int rows) {
    return of(rows).patience(false, MOST);
  }

  @Test
  void patience_manyRunsOfOtherShapes_sayNothingOfALargeBatch() {
    for (int i = 0; i < 100; i++) {
      of(1).took(false, 1_000_000);
    }
    assertEquals(LEAST, patience(1));
    assertEquals(MOST, patience(512));
    of(512).took(false, Duration.ofSeconds(2).toNanos());
    assertEquals(Duration.ofSeconds(200), patience(512));
    assertEquals(LEAST, patience(1));
  }

  @Test
  void of_moreShapesThanAreKept_forgetsTheOnesAskedForLongestAgo() {
    for (int rows = 1; rows <= ExpectedTimes.MOST; rows++) {
      of(rows).took(false, 1_000_000);
    }
    assertEquals(LEAST, patience(1));
    assertEquals(MOST, patience(ExpectedTimes.MOST + 1));
    assertEquals(LEAST, patience(1));
    assertEquals(MOST, patience(2));
  }
}
