package io.pipelane.lanes.cuda.copy;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.BooleanSupplier;
import org.junit.jupiter.api.Test;

class LentBuffersTest {
  private static final int COUNT = 3;

  private final AtomicLong clock = new AtomicLong();
  private final MemorySegment words = MemorySegment.ofArray(new int[COUNT]);
  private final LentBuffers buffers = new LentBuffers(words, clock::get);
  private final AtomicInteger asked = new AtomicInteger();

  private void fetched(int buffer, int number) {
    words.set(ValueLayout.JAVA_INT, LentBuffers.wordOffset(buffer), number);
  }

  private BooleanSupplier receiver(boolean hasFailed) {
    return () -> {
      asked.incrementAndGet();
      return hasFailed;
    };
  }

  @Test
  void buffers_areTakenInTurn_andFreeOnceFetched() {
    for (int round = 1; round <= 3; round++) {
      for (int i = 0; i < COUNT; i++) {
        assertEquals(i, buffers.next());
        assertTrue(buffers.isFree(i));
        assertEquals(round, buffers.use(receiver(false)));
        assertFalse(buffers.isFree(i));
      }
      for (int i = 0; i < COUNT; i++) {
        fetched(i, round);
      }
    }
    assertEquals(0, asked.get());
  }

  /** Otherwise the link would be lent to no other device any more. */
  @Test
  void buffersOfAReceiverThatHasFailed_areFreeAgain() {
    for (int i = 0; i < COUNT; i++) {
      buffers.use(receiver(true));
    }
    assertFalse(buffers.isFree(0), "it may be about to be fetched");
    assertEquals(0, asked.get());
    clock.addAndGet(LentBuffers.PATIENCE.toNanos());
    for (int i = 0; i < COUNT; i++) {
      assertTrue(buffers.isFree(i));
      int number = buffers.use(receiver(false));
      assertFalse(buffers.isFree(i));
      fetched(i, number);
      assertTrue(buffers.isFree(i));
    }
  }

  @Test
  void bufferOfAReceiverThatIsSlow_staysItsOwn_andThatIsNotAskedInALoop() {
    buffers.use(receiver(false));
    for (int second = 1; second <= 3; second++) {
      clock.addAndGet(LentBuffers.PATIENCE.toNanos());
      for (int i = 0; i < 100; i++) {
        assertFalse(buffers.isFree(0));
      }
      assertEquals(second, asked.get());
    }
    fetched(0, 1);
    assertTrue(buffers.isFree(0));
  }
}
