package io.pipelane.lanes.cpu;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.lanes.HostRegion;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** A lane's memory as workers that each belong to one owner have it in turn. */
class SharedRegionTest {
  private static final long BYTES = 1 << 20;

  private final SharedRegion region = new SharedRegion(0, BYTES, false, _ -> {});
  private final AtomicBoolean firstIsGone = new AtomicBoolean();

  @AfterEach
  void close() {
    region.close();
  }

  private static boolean isOpen(int descriptor) {
    return Files.exists(Path.of("/proc/self/fd/" + descriptor));
  }

  private void write(byte value) {
    region.at(0, 1).set(ValueLayout.JAVA_BYTE, 0, value);
  }

  private byte read() {
    MemorySegment first = region.at(0, 1);
    return first.get(ValueLayout.JAVA_BYTE, 0);
  }

  @Test
  void handTo_workersInTurn_eachFindsItsOwnAndNothingOfBefore() {
    region.limit(BYTES);
    region.handTo(1, firstIsGone::get);
    int first = region.descriptor();
    write((byte) 1);
    region.handTo(2, () -> false);
    assertNotEquals(first, region.descriptor());
    assertEquals(0, read());
    region.handTo(1, firstIsGone::get);
    assertEquals(first, region.descriptor());
    assertEquals(0, read(), "what it had was given back to the system");
  }

  /** Its process may end between its being chosen for a run and the run's beginning. */
  @Test
  void handTo_workerIsGoneAlready_theRunHasMemoryUntilTheLaneGoesOn() {
    region.limit(BYTES);
    region.handTo(1, () -> true);
    int first = region.descriptor();
    assertTrue(isOpen(first));
    write((byte) 1);
    region.limit(0);
    region.handTo(2, () -> false);
    assertFalse(isOpen(first));
  }

  @Test
  void handTo_anotherOnceTheLastIsGone_closesWhatThatHad() {
    region.limit(BYTES);
    region.handTo(1, firstIsGone::get);
    int first = region.descriptor();
    region.handTo(2, () -> false);
    assertTrue(isOpen(first), "it still maps that");
    firstIsGone.set(true);
    region.handTo(3, () -> false);
    assertFalse(isOpen(first));
  }

  /** A worker that stands by opens what it will be handed the lane with. */
  @Test
  void prepareFor_beforeTheLaneIsHandedOver_isWhatItIsHandedOverWith() {
    region.limit(BYTES);
    region.handTo(1, firstIsGone::get);
    int ofSecond = region.prepareFor(2, () -> false).orElseThrow();
    int ofAll = region.prepareFor(HostRegion.EVERY_WORKER, () -> false).orElseThrow();
    region.handTo(2, () -> false);
    assertEquals(ofSecond, region.descriptor());
    region.handTo(HostRegion.EVERY_WORKER, () -> false);
    assertEquals(ofAll, region.descriptor());
    region.close();
    assertTrue(region.prepareFor(2, () -> false).isEmpty());
  }
}
