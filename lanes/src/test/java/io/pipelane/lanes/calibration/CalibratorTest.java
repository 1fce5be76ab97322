package io.pipelane.lanes.calibration;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.config.value.Bandwidth;
import io.pipelane.config.value.ByteSize;
import io.pipelane.lanes.Device;
import io.pipelane.lanes.calibration.Calibration.ProductRate;
import io.pipelane.lanes.cpu.CpuDevice;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class CalibratorTest {
  private static final ByteSize MEMORY = new ByteSize(Calibrator.LARGEST_COPY);
  private static final ByteSize PAGE = ByteSize.ofMebibytes(16);
  private static final int MAPPING_NANOS = 4000;

  @TempDir Path cache;

  private final AtomicLong clock = new AtomicLong();

  private final DeviceProbe probe =
      new DeviceProbe() {
        @Override
        public void awaitMappings() {
          clock.addAndGet(MAPPING_NANOS);
        }

        @Override
        public Optional<Double> launchNanos() {
          return Optional.of(2500.0);
        }

        @Override
        public Optional<ProductRate> products() {
          return Optional.of(new ProductRate(4e14, "by heart"));
        }
      };

  private Calibration calibrate(long costNanos, double nanosPerByte) {
    return calibrate(costNanos, nanosPerByte, () -> {});
  }

  private Calibration calibrate(long costNanos, double nanosPerByte, Runnable turn) {
    try (Device device =
            new SimulatedLink(
                CpuDevice.open(MEMORY, PAGE, Bandwidth.UNLIMITED), clock, costNanos, nanosPerByte);
        Arena arena = Arena.ofShared()) {
      MemorySegment source = arena.allocate(Calibrator.LARGEST_COPY);
      return new Calibrator(clock::get, turn).calibrate(device, "driver 1", source, probe);
    }
  }

  @Test
  void calibrate_aSimulatedLink_findsItsRateAndCost() {
    Calibration found = calibrate(3000, 1 / 50.0);
    assertEquals(6, found.link().copies().size());
    assertEquals(3000, found.link().costPerCopyNanos(), 2);
    assertEquals(50e9, found.link().bandwidth(1 << 30), 0.2e9);
    assertEquals(MAPPING_NANOS / 4.0, found.mapNanosPerPage());
    assertEquals(MAPPING_NANOS / 4.0, found.unmapNanosPerPage());
    assertEquals(PAGE.bytes(), found.pageBytes());
    assertTrue(clock.get() < 1_000_000_000, "it took " + clock);
  }

  @Test
  void calibrate_aSlowLink_leavesLargeSizesOut() {
    Calibration found = calibrate(3000, 10);
    assertEquals(16 << 20, found.link().copies().getLast().bytes(), "100 MB/s");
  }

  /** What others do meanwhile is not counted as the link's time. */
  @Test
  void calibrate_besideOtherWork_waitsForItsTurnBeforeEachRow() {
    AtomicLong longestRow = new AtomicLong();
    AtomicLong rowBegan = new AtomicLong(clock.get());
    Calibration found =
        calibrate(
            3000,
            1 / 50.0,
            () -> {
              longestRow.accumulateAndGet(clock.get() - rowBegan.get(), Math::max);
              rowBegan.set(clock.addAndGet(1_000_000_000));
            });
    assertEquals(calibrate(3000, 1 / 50.0).link(), found.link());
    assertTrue(longestRow.get() < 20_000_000, "others waited " + longestRow + " ns");
  }

  @Test
  void calibrate_endedAtItsTurn_throwsThatAndGivesThePagesBack() {
    IllegalStateException end = new IllegalStateException("the server ends");
    AtomicLong turns = new AtomicLong();
    IllegalStateException thrown =
        assertThrows(
            IllegalStateException.class,
            () ->
                calibrate(
                    3000,
                    1 / 50.0,
                    () -> {
                      if (turns.incrementAndGet() > 3) {
                        throw end;
                      }
                    }));
    assertSame(end, thrown);
  }

  @Test
  void file_afterWriting_holdsTheSame() throws IOException {
    Calibration written = calibrate(3000, 1 / 50.0);
    CalibrationFile files = new CalibrationFile(cache);
    files.write(written);
    files.write(written);
    assertEquals(Optional.of(written), files.read("cpu", "driver 1"));
    assertEquals(Optional.empty(), files.read("cpu", "driver 2"));
  }

  @Test
  void file_ofSomethingElse_countsAsMissing() throws IOException {
    CalibrationFile files = new CalibrationFile(cache);
    files.write(calibrate(3000, 1 / 50.0));
    for (String content : new String[] {"", "null", "{}", "[1", "{\"device\":\"cpu\"}"}) {
      Files.writeString(onlyFile(), content);
      assertEquals(Optional.empty(), files.read("cpu", "driver 1"), content);
    }
  }

  private Path onlyFile() throws IOException {
    try (Stream<Path> files = Files.list(cache.resolve("calibration"))) {
      return files.findFirst().orElseThrow();
    }
  }
}
