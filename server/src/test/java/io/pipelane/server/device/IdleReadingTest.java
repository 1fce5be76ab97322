package io.pipelane.server.device;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.modelstore.ImportedModel;
import io.pipelane.modelstore.ModelVersion;
import io.pipelane.modelstore.Plan;
import io.pipelane.switcher.memory.account.Demand;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.function.BooleanSupplier;
import org.junit.jupiter.api.Test;

class IdleReadingTest {
  private static final long BYTES = 100;
  private static final long READ_NANOS = 7_000;

  private final List<Demand> demands = new ArrayList<>();
  private final List<String> read = new ArrayList<>();
  private final Set<Path> there = new HashSet<>();
  private final Set<Path> unreadable = new HashSet<>();
  private int room = Integer.MAX_VALUE;
  private boolean idle = true;
  private boolean goesOn;
  private long now;
  private final IdleReading reading =
      new IdleReading(() -> demands, this::read, () -> idle, () -> now);

  private long read(Path weights, long byteSize, BooleanSupplier going) {
    assertEquals(BYTES, byteSize);
    goesOn = going.getAsBoolean();
    if (unreadable.contains(weights)) {
      throw new UncheckedIOException(new IOException("on purpose"));
    }
    if (there.size() == room || !there.add(weights)) {
      return 0;
    }
    now += READ_NANOS;
    read.add(weights.toString());
    return byteSize;
  }

  private void wanted(String name, double perSecond) {
    Plan plan =
        new Plan(
            name,
            List.of(),
            List.of(),
            List.of(),
            List.of(new Plan.Segment(0, BYTES, 1)),
            BYTES,
            0,
            0,
            List.of());
    Path file = Path.of(name);
    demands.add(
        new Demand(new ImportedModel(new ModelVersion(name, 1), plan, file, file), perSecond));
  }

  /** Lets the quiet time pass. */
  private void afterQuiet() {
    assertEquals(IdleReading.QUIET_NANOS, reading.step());
    now += IdleReading.QUIET_NANOS;
  }

  @Test
  void step_fileThatCannotBeRead_theOthersAre() {
    wanted("broken", 2);
    wanted("sound", 1);
    unreadable.add(Path.of("broken"));
    afterQuiet();
    assertEquals(READ_NANOS, reading.step());
    assertEquals(List.of("sound"), read);
  }

  @Test
  void step_idleForAWhile_readsTheMostWantedFirstAndRestsAsLong() {
    wanted("seldom", 1);
    wanted("often", 2.5);
    wanted("on two devices", 2);
    wanted("on two devices", 2);
    afterQuiet();
    assertEquals(READ_NANOS, reading.step());
    assertEquals(READ_NANOS, reading.step());
    assertEquals(READ_NANOS, reading.step());
    assertEquals(IdleReading.PAUSE_NANOS, reading.step());
    assertEquals(List.of("on two devices", "often", "seldom"), read);
  }

  @Test
  void step_somethingIsToBeDone_readsNothingUntilItHasBeenQuietAgain() {
    wanted("a", 1);
    afterQuiet();
    idle = false;
    assertEquals(IdleReading.QUIET_NANOS, reading.step());
    idle = true;
    assertEquals(IdleReading.QUIET_NANOS, reading.step());
    now += IdleReading.QUIET_NANOS / 2;
    assertEquals(IdleReading.QUIET_NANOS / 2, reading.step());
    assertEquals(List.of(), read);
    now += IdleReading.QUIET_NANOS / 2;
    assertEquals(READ_NANOS, reading.step());
    assertEquals(true, goesOn);
  }

  @Test
  void step_noRoomIsFree_asksAgainLater() {
    room = 1;
    wanted("a", 2);
    wanted("b", 1);
    afterQuiet();
    assertEquals(READ_NANOS, reading.step());
    assertEquals(IdleReading.PAUSE_NANOS, reading.step());
    assertEquals(2 * IdleReading.PAUSE_NANOS, reading.step());
    for (int i = 0; i < 10; i++) {
      assertTrue(reading.step() <= IdleReading.LONGEST_PAUSE_NANOS);
    }
    assertEquals(List.of("a"), read);
    room = 2;
    assertEquals(READ_NANOS, reading.step());
  }

  @Test
  void step_nothingHasBeenWantedForLong_looksSoonOnceSomethingIs() {
    afterQuiet();
    for (int i = 0; i < 10; i++) {
      assertEquals(IdleReading.PAUSE_NANOS, reading.step());
    }
    wanted("a", 1);
    assertEquals(READ_NANOS, reading.step());
    assertEquals(IdleReading.PAUSE_NANOS, reading.step());
  }
}
