package io.pipelane.lanes.process.channel;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.Random;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(value = 20, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class RingTest {
  private static final int MESSAGES = 100_000;

  private final MemorySegment memory = Arena.ofAuto().allocate(RingMemory.BYTES, 64);
  private final RingWriter writer = new RingWriter(memory);
  private final RingReader reader = new RingReader(memory);

  private static MemorySegment body(Random random, int length) {
    byte[] bytes = new byte[length];
    random.nextBytes(bytes);
    return MemorySegment.ofArray(bytes);
  }

  @Test
  void write_anyLength_isReadAsItWas() {
    long seed = System.nanoTime();
    Random random = new Random(seed);
    for (int i = 0; i < 5_000; i++) {
      int bound = random.nextBoolean() ? 100 : RingMemory.MAXIMUM_BODY + 1;
      MemorySegment body = body(random, random.nextInt(bound));
      writer.write(i, body);
      assertTrue(reader.next(), "seed " + seed);
      assertEquals(i, reader.type());
      assertEquals(-1, reader.body().mismatch(body), "seed " + seed);
      assertFalse(reader.next());
    }
  }

  @Test
  void rouse_readerWaits_wakesToNothingAndTheMessageComesBehind() {
    int mark = reader.signal().value();
    writer.rouse();
    assertTrue(reader.signal().awaitChange(mark, Signal.FOREVER));
    assertFalse(reader.next());
    MemorySegment body = body(new Random(1), 8);
    writer.write(1, body);
    assertTrue(reader.next());
    assertEquals(-1, reader.body().mismatch(body));
  }

  @Test
  void write_beyondCapacity_isRefusedAndNothingIsOverwritten() {
    MemorySegment body = body(new Random(1), RingMemory.MAXIMUM_BODY - RingMemory.HEADER);
    writer.write(1, body);
    writer.write(2, body);
    assertThrows(ProtocolException.class, () -> writer.write(3, body));
    assertTrue(reader.next());
    writer.write(3, body);
    for (int type = 2; type <= 3; type++) {
      assertTrue(reader.next());
      assertEquals(type, reader.type());
      assertEquals(-1, reader.body().mismatch(body));
    }
    MemorySegment longer = body(new Random(1), RingMemory.MAXIMUM_BODY + 1);
    assertThrows(IllegalArgumentException.class, () -> writer.write(4, longer));
  }

  /** A thread writes in bursts, the other reads, sleeping and waking. */
  @Test
  void twoThreads_everyMessageComesOnceInOrder() throws Exception {
    AtomicReference<@Nullable Throwable> failure = new AtomicReference<>();
    Signal read = new Signal(Arena.ofAuto().allocate(Signal.BYTES, 64));
    long seed = System.nanoTime();
    Thread writing =
        Thread.ofPlatform()
            .uncaughtExceptionHandler((_, e) -> failure.set(e))
            .start(() -> writeAll(new Random(seed), read));
    int expected = 0;
    while (expected < MESSAGES) {
      int mark = reader.signal().value();
      if (reader.next()) {
        assertEquals(expected, reader.type(), "seed " + seed);
        assertEquals(expected, reader.body().get(JAVA_INT, 0), "seed " + seed);
        expected++;
        read.set(expected);
      } else {
        assertTrue(reader.signal().awaitChange(mark, 10_000_000_000L), "a wake-up was lost");
      }
    }
    writing.join();
    assertEquals(null, failure.get());
  }

  /** At most so many ahead of the reader as the ring has room for. */
  private void writeAll(Random random, Signal read) {
    MemorySegment body = Arena.ofAuto().allocate(64, 8);
    for (int i = 0; i < MESSAGES; i++) {
      int seen = read.value();
      while (i - seen > 100) {
        assertTrue(read.awaitChange(seen, 10_000_000_000L), "a wake-up was lost");
        seen = read.value();
      }
      body.set(JAVA_INT, 0, i);
      writer.write(i, body.asSlice(0, 4 + random.nextInt(60)));
    }
  }

  @Test
  void signal_thatIsNotSet_endsTheWaitAfterItsTime() {
    Signal signal = new Signal(Arena.ofAuto().allocate(Signal.BYTES, 64));
    assertFalse(signal.awaitChange(0, 1_000_000));
    signal.set(7);
    assertTrue(signal.awaitChange(0, Signal.FOREVER));
    assertEquals(7, signal.value());
  }

  /** Whatever the other side writes: a message, none, or a violation; never anything else. */
  @Test
  void next_overRandomBytes_neverReadsOutsideTheRing() {
    long seed = System.nanoTime();
    Random random = new Random(seed);
    for (int round = 0; round < 20_000; round++) {
      RingReader fresh = new RingReader(memory);
      damage(random, round);
      try {
        for (int i = 0; i < 10 && fresh.next(); i++) {
          assertTrue(fresh.body().byteSize() <= RingMemory.MAXIMUM_BODY);
          readAsMessage(fresh);
        }
      } catch (ProtocolException e) {
        // That is what it is for.
      } catch (RuntimeException e) {
        throw new AssertionError("seed " + seed + ", round " + round, e);
      }
    }
  }

  private static void readAsMessage(RingReader ring) {
    Message _ = MessageType.read(ring.type(), new MessageReader(ring.body()));
  }

  private void damage(Random random, int round) {
    memory.fill((byte) 0);
    boolean likely = round % 2 == 0;
    long frame = RingMemory.frameBytes(64);
    memory.set(JAVA_LONG, 0, likely ? frame : random.nextLong());
    long data = RingMemory.BYTES - RingMemory.CAPACITY;
    for (int i = 0; i < 80; i++) {
      memory.set(JAVA_BYTE, data + i, (byte) (random.nextInt(4) == 0 ? random.nextInt() : 0));
    }
    if (likely) {
      memory.set(JAVA_INT, data, random.nextInt(65));
      memory.set(JAVA_INT, data + Integer.BYTES, 1 + random.nextInt(16));
    }
  }
}
