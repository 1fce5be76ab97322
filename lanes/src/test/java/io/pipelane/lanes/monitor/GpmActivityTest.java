package io.pipelane.lanes.monitor;

import static java.lang.foreign.ValueLayout.JAVA_DOUBLE;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static org.junit.jupiter.api.Assertions.assertEquals;

import io.pipelane.lanes.monitor.GpmActivity.Reading;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.List;
import java.util.OptionalDouble;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

class GpmActivityTest {
  private static final long WINDOW = Duration.ofMillis(100).toNanos();
  private static final int NOT_SUPPORTED = 3;

  private final Arena arena = Arena.ofConfined();
  private final FakeNvml library = new FakeNvml(arena);
  private long now;
  private int asked;
  private int metrics;

  @AfterEach
  void close() {
    arena.close();
  }

  /** One whose metrics are in percent, or not there. */
  private GpmActivity activity(double percent, OptionalDouble occupancy) {
    library.answer(
        "nvmlGpmMetricsGet",
        request -> {
          asked++;
          MemorySegment all = request.reinterpret(24 + 2 * 40);
          metrics = all.get(JAVA_INT, 4); // Nothing may be thrown here, in an upcall.
          for (int i = 0; i < 2; i++) {
            MemorySegment metric = all.asSlice(24 + i * 40L, 40);
            boolean isOccupancy = metric.get(JAVA_INT, 0) == 3;
            boolean isThere = !isOccupancy || occupancy.isPresent();
            metric.set(JAVA_INT, 4, isThere ? 0 : NOT_SUPPORTED);
            metric.set(JAVA_DOUBLE, 8, isOccupancy ? occupancy.orElse(0) : percent);
          }
        });
    return GpmActivity.open(library.nvml(), MemorySegment.NULL, arena, () -> now).orElseThrow();
  }

  private static Reading reading(double activity, OptionalDouble occupancy) {
    return new Reading(OptionalDouble.of(activity), occupancy);
  }

  @Test
  void read_isActivityAndOccupancy_onceAWindowIsOver() {
    GpmActivity activity = activity(50, OptionalDouble.of(12.5));
    assertEquals(Reading.NONE, activity.read());
    now += WINDOW;
    assertEquals(reading(0.5, OptionalDouble.of(0.125)), activity.read());
    assertEquals(reading(0.5, OptionalDouble.of(0.125)), activity.read());
    assertEquals(1, asked);
    assertEquals(2, metrics, "both in one call");
    activity.close();
  }

  @Test
  void occupancyThatIsNotToldOrNoNumber_isNone_andActivityIsToldAllTheSame() {
    for (OptionalDouble untold : List.of(OptionalDouble.empty(), OptionalDouble.of(Double.NaN))) {
      GpmActivity activity = activity(120, untold);
      now += WINDOW;
      assertEquals(reading(1, OptionalDouble.empty()), activity.read());
    }
  }
}
