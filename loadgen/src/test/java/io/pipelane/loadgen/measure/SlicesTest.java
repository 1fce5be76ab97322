package io.pipelane.loadgen.measure;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.loadgen.result.Slice;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;

class SlicesTest {
  private static final long SECOND = 1_000_000_000;
  private static final long START = -7 * SECOND;

  private final Slices slices = new Slices();

  @Test
  void until_longMeasurement_fewSlicesThatHoldEverything() {
    slices.begin(START);
    slices.latency(START - 1, 5, false);
    for (int second = 0; second < 1000; second++) {
      long time = START + second * SECOND;
      slices.latency(time, second == 500 ? 30 * SECOND : SECOND, second == 500);
      slices.answer(time);
      slices.error(time);
    }

    List<Slice> result = slices.until(START + 1000 * SECOND);

    assertTrue(result.size() > 100 && result.size() <= 240, "slices: " + result.size());
    assertEquals(1000, result.stream().mapToLong(s -> s.responseNanos().getTotalCount()).sum());
    assertEquals(1000, result.stream().mapToLong(Slice::answers).sum());
    assertEquals(1000, result.stream().mapToLong(Slice::errors).sum());
    Slice slow = result.stream().filter(s -> s.cold() > 0).findFirst().orElseThrow();
    assertTrue(slow.start().compareTo(Duration.ofSeconds(500)) <= 0);
    assertTrue(slow.start().plus(slow.length()).compareTo(Duration.ofSeconds(500)) > 0);
    assertEquals(30e9, (double) slow.responseNanos().getMaxValue(), 0.02 * 30e9);
  }

  @Test
  void until_endWithinASlice_lastOneIsCutShort() {
    slices.begin(START);
    slices.latency(START + 250_000_000, 5, false);

    List<Slice> result = slices.until(START + 260_000_000);

    assertEquals(Duration.ofMillis(60), result.getLast().length());
  }
}
