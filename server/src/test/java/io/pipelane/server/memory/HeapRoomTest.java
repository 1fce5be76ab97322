package io.pipelane.server.memory;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class HeapRoomTest {
  private static final int TIMES = 300_000;

  private final HeapRoom room = new HeapRoom(100);

  private static Status refusal(HeapRoom.Share share, long bytes) {
    return assertThrows(StatusException.class, () -> share.take(bytes)).status();
  }

  @Test
  void whatIsTaken_isMissingToOthersUntilItIsGivenBack() {
    HeapRoom.Share first = room.share();
    first.take(60);
    HeapRoom.Share second = room.share();
    assertEquals(Status.UNAVAILABLE, refusal(second, 41));
    assertEquals(Status.INSUFFICIENT_MEMORY, refusal(first, 41));
    second.take(40);
    first.take(0);
    assertEquals(100, room.takenBytes());
    first.close();
    first.close();
    second.close();
    assertEquals(0, room.takenBytes());
  }

  /** Who asks for too much takes nothing meanwhile. */
  @Test
  void whatFits_isNeverRefusedBesideWhatDoesNot() {
    HeapRoom.Share held = room.share();
    held.take(40);
    AtomicBoolean over = new AtomicBoolean();
    CompletableFuture<Void> tooMuch =
        CompletableFuture.runAsync(
            () -> {
              while (!over.get()) {
                assertEquals(Status.UNAVAILABLE, refusal(room.share(), 90));
              }
            });
    try {
      for (int i = 0; i < TIMES; i++) {
        try (HeapRoom.Share share = room.share()) {
          share.take(50);
        }
      }
    } finally {
      over.set(true);
    }
    tooMuch.join();
    assertEquals(40, room.takenBytes());
  }
}
