package io.pipelane.lanes.cuda.copy;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;

import org.junit.jupiter.api.Test;

/** Pieces on a stream that a test has come as far as it wants. */
class InFlightTest {
  private static final long LARGE = 1L << 30;

  private final Stream stream = new Stream();
  private final InFlight inFlight = new InFlight(new PromptProgress(stream));

  /** All that is enqueued is done once somebody waits for it, unless it fails. */
  private static final class Stream implements Progress {
    int marks;
    int reached;
    int waits;
    boolean fails;

    @Override
    public int mark() {
      return ++marks;
    }

    @Override
    public boolean reached(int mark) {
      return mark <= reached;
    }

    @Override
    public void require(int mark) {
      waits++;
      if (fails) {
        throw new IllegalStateException("a kernel has faulted");
      }
      reached = mark;
    }
  }

  private void fill() {
    for (long piece = inFlight.room(LARGE); piece > 0; piece = inFlight.room(LARGE)) {
      inFlight.add(piece);
    }
  }

  @Test
  void awaitRoom_streamIsFull_waitsForTheOldestPiece() {
    fill();
    assertEquals(InFlight.LEAST_BYTES / 2, inFlight.awaitRoom(InFlight.LEAST_BYTES / 2));
    assertEquals(1, stream.waits);
  }

  /** Waiting takes a second before the driver is asked, and thousands of copies may be queued. */
  @Test
  void awaitRoom_behindAPieceThatFailed_failsWithoutWaitingAgain() {
    fill();
    stream.fails = true;
    RuntimeException failure =
        assertThrows(IllegalStateException.class, () -> inFlight.awaitRoom(LARGE));
    assertSame(failure, assertThrows(RuntimeException.class, () -> inFlight.awaitRoom(LARGE)));
    assertSame(failure, assertThrows(RuntimeException.class, () -> inFlight.room(1)));
    assertEquals(1, stream.waits);
  }

  @Test
  void awaitRoom_whatSeemedToHaveFailedIsDoneAfterAll_goesOn() {
    fill();
    stream.fails = true;
    assertThrows(IllegalStateException.class, () -> inFlight.awaitRoom(LARGE));
    stream.fails = false;
    stream.reached = stream.marks;
    fill();
    inFlight.awaitRoom(LARGE);
    assertEquals(2, stream.waits);
  }
}
