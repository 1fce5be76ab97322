package io.pipelane.server.device;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.lanes.calibration.Calibration;
import io.pipelane.lanes.calibration.CalibrationFile;
import io.pipelane.lanes.calibration.LinkProfile;
import io.pipelane.lanes.calibration.LinkProfile.Copy;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

@Timeout(60)
class IdleCalibrationTest {
  private static final int ROWS = 3;
  private static final Calibration FOUND =
      new Calibration(
          "cpu",
          "driver 1",
          new LinkProfile(List.of(new Copy(1 << 20, 1e5))),
          4096,
          1,
          1,
          Optional.empty(),
          Optional.empty());

  @TempDir Path cache;

  private final List<Calibration> found = new ArrayList<>();
  private final List<Long> rows = new ArrayList<>();
  private long nanos;

  private IdleCalibration calibration(BooleanSupplier idle) {
    return new IdleCalibration(
        turn -> {
          for (int i = 0; i < ROWS; i++) {
            turn.run();
            rows.add(nanos);
          }
          return FOUND;
        },
        new CalibrationFile(cache),
        found::add,
        idle,
        () -> nanos,
        pause -> nanos += pause);
  }

  @Test
  void measure_onAServerWithPauses_copiesInThemAndKeepsWhatItFinds() {
    calibration(() -> nanos / 1_000_000_000 % 2 == 1).measure(); // Every other second.
    assertEquals(List.of(FOUND), found);
    assertEquals(Optional.of(FOUND), new CalibrationFile(cache).read("cpu", "driver 1"));
    assertTrue(rows.stream().allMatch(at -> at >= 1_000_000_000), rows.toString());
  }

  @Test
  void measure_onAServerThatIsNeverIdle_waitsBeforeEachRowAndGetsDone() {
    calibration(() -> false).measure();
    assertEquals(List.of(FOUND), found);
    assertEquals(ROWS * IdleCalibration.LONGEST_WAIT_NANOS, nanos);
  }

  @Test
  void measure_whatFails_leavesTheLinkUnknown() throws Exception {
    IdleCalibration failing =
        new IdleCalibration(
            turn -> {
              throw new IllegalStateException("too few pages");
            },
            new CalibrationFile(cache),
            found::add,
            () -> true,
            () -> nanos,
            pause -> {});
    failing.measure();
    assertEquals(List.of(), found);
    try (var files = Files.list(cache)) {
      assertEquals(0, files.count());
    }
  }

  @Test
  void close_whileItWaitsForItsTurn_endsItWithoutAResult() throws Exception {
    CountDownLatch asked = new CountDownLatch(1);
    IdleCalibration waiting =
        calibration(
            () -> {
              asked.countDown();
              nanos = 0; // Its patience never ends.
              return false;
            });
    waiting.start();
    assertTrue(asked.await(30, TimeUnit.SECONDS));
    waiting.close();
    waiting.start();
    waiting.close();
    assertEquals(List.of(), found);
    assertEquals(List.of(), rows);
  }
}
