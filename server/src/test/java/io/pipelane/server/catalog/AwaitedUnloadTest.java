package io.pipelane.server.catalog;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import org.junit.jupiter.api.Test;

class AwaitedUnloadTest {
  private final CompletableFuture<Void> gone = new CompletableFuture<>();

  private StatusException refusal(Duration longest) {
    CompletableFuture<Void> awaited = RepositoryCatalog.awaited(gone, "m", longest);
    Throwable cause = assertThrows(CompletionException.class, awaited::join).getCause();
    return assertInstanceOf(StatusException.class, cause);
  }

  @Test
  void unloadThatTakesTooLong_isToldToGoOn() {
    assertEquals(Status.UNAVAILABLE, refusal(Duration.ofMillis(1)).status());
    assertFalse(gone.isDone(), "it goes on");
  }

  @Test
  void unloadThatFails_isToldWhy() {
    gone.completeExceptionally(new StatusException(Status.NOT_FOUND, "it is not there"));
    assertEquals(Status.NOT_FOUND, refusal(Duration.ofHours(1)).status());
  }

  @Test
  void unloadThatIsDone_isDone() {
    gone.complete(null);
    assertEquals(null, RepositoryCatalog.awaited(gone, "m", Duration.ofHours(1)).join());
  }
}
