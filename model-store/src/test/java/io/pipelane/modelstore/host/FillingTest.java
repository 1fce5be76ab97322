package io.pipelane.modelstore.host;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.concurrent.FutureTask;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class FillingTest {
  private static final int BYTES = 1_000;

  private final Filling filling = new Filling();
  private final MemorySegment memory = Arena.ofAuto().allocate(BYTES);

  /** A read on a thread of its own. */
  private static final class Reading {
    private final MemorySegment destination = Arena.ofAuto().allocate(10);
    private final FutureTask<Boolean> task;
    private final Thread thread;

    Reading(Filling filling, long offset) {
      task = new FutureTask<>(() -> filling.read(offset, destination));
      thread = Thread.ofPlatform().start(task);
    }

    /** Until it waits for what has not come. */
    void untilItWaits() {
      while (thread.getState() != Thread.State.WAITING) {
        Thread.onSpinWait();
      }
    }

    int firstByte() {
      return destination.get(ValueLayout.JAVA_BYTE, 0);
    }
  }

  @Test
  void read_beforeReadingHasBegun_hasToBeHadElsewhere() {
    assertFalse(filling.read(0, Arena.ofAuto().allocate(10)));
  }

  @Test
  void read_beforeReadingBegins_waitsIfThatIsSoon() throws Exception {
    Filling soon = new Filling(true);
    Reading reading = new Reading(soon, 0);
    reading.untilItWaits();
    memory.fill((byte) 7);
    soon.begun(memory);
    soon.came(0, 100);
    assertTrue(reading.task.get());
    assertEquals(7, reading.firstByte());
  }

  @Test
  void read_ofWhatNeverBegins_hasToBeHadElsewhere() throws Exception {
    Filling soon = new Filling(true);
    Reading reading = new Reading(soon, 0);
    reading.untilItWaits();
    soon.end();
    assertFalse(reading.task.get());
  }

  @Test
  void read_whatComesOutOfOrder_waitsForAllOfIt() throws Exception {
    filling.begun(memory);
    Reading reading = new Reading(filling, 45);
    reading.untilItWaits();
    memory.fill((byte) 7);
    filling.came(50, 100);
    filling.came(20, 50);
    reading.untilItWaits();
    assertFalse(reading.task.isDone());
    filling.came(0, 20);
    assertTrue(reading.task.get());
    assertEquals(7, reading.firstByte());
    assertTrue(filling.read(90, reading.destination));
  }

  @Test
  void read_whenItEndsUnderWay_hasToBeHadElsewhere() throws Exception {
    filling.begun(memory);
    filling.came(0, 50);
    Reading reading = new Reading(filling, 45);
    reading.untilItWaits();
    filling.end();
    assertFalse(reading.task.get());
    assertFalse(filling.read(0, reading.destination));
    assertTrue(filling.isOver());
  }

  @Test
  void read_farAheadOfWhatHasCome_isNotWaitedFor() {
    filling.begun(memory);
    assertFalse(filling.read(40L << 20, Arena.ofAuto().allocate(10)));
  }
}
