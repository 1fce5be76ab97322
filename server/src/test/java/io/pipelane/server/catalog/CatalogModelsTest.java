package io.pipelane.server.catalog;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.modelstore.repository.VersionChoice;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.Executor;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What is said of models that are not there, or not yet, and who does something with one. */
@Timeout(60)
class CatalogModelsTest {
  private final CatalogModels models =
      new CatalogModels(
          name ->
              new CatalogModel(name, VersionChoice.NONE, _ -> List.of(), _ -> Optional.empty()));

  private StatusException refusal(String version) {
    return assertThrows(StatusException.class, () -> models.resolve("m", version));
  }

  private StatusException unknown() {
    return assertThrows(StatusException.class, () -> models.known("m"));
  }

  /** A job that goes on at a start, and whoever asks then, is not told that it is unknown. */
  @Test
  void modelThatIsUnknown_mayComeUntilTheRepositoryIsScanned() {
    StatusException before = refusal("");
    assertEquals(Status.UNAVAILABLE, before.status());
    assertEquals(
        "the repository is still being scanned, and so far there is no model \"m\"",
        before.getMessage());
    assertNotNull(before.retryAfter());
    assertEquals(Status.UNAVAILABLE, unknown().status(), "for what is done with a model, too");
    models.scanned();
    assertEquals(Status.NOT_FOUND, unknown().status());
    StatusException after = refusal("");
    assertEquals(Status.NOT_FOUND, after.status());
    assertNull(after.retryAfter());
  }

  @Test
  void versionThatIsUnknown_mayComeUntilTheRepositoryIsScanned() {
    models.exclusively("m", model -> model.put(1, new VersionEntry.Importing()));
    assertEquals(Status.UNAVAILABLE, refusal("2").status());
    models.scanned();
    assertEquals(Status.NOT_FOUND, refusal("2").status());
  }

  @Test
  void unlessBusy_modelOfThisThread_isNotBusy_andTellsWhenAllIsOver() {
    List<String> done = new CopyOnWriteArrayList<>();
    models.unlessBusy(
        "m",
        () -> {
          models.exclusively(
              "m", _ -> elsewhere(() -> models.unlessBusy("m", () -> {}, done::clear)));
          done.add("inner");
          elsewhere(() -> models.unlessBusy("m", () -> {}, () -> done.add("later")));
          done.add("outer");
        },
        () -> done.add("busy"));
    assertEquals(List.of("later"), done);
    assertTrue(models.find("m").isEmpty(), "there is nothing to say of it");
  }

  private static void elsewhere(Runnable work) {
    CompletableFuture.runAsync(work).join();
  }

  /** It may end just when somebody leaves word, and no other comes by later. */
  @Test
  void unlessBusy_whileAnotherEnds_isDone_andNoTwoAtATime() throws Exception {
    AtomicInteger inside = new AtomicInteger();
    AtomicInteger begun = new AtomicInteger();
    int rounds = 50_000;
    ExecutorService threads = Executors.newFixedThreadPool(2);
    try {
      Future<?> other =
          threads.submit(
              () -> {
                for (int round = 1; round <= rounds; round++) {
                  while (begun.get() < round) {
                    if (Thread.currentThread().isInterrupted()) {
                      return;
                    }
                    Thread.onSpinWait();
                  }
                  models.exclusively("m", _ -> alone(inside));
                }
              });
      for (int round = 1; round <= rounds; round++) {
        CompletableFuture<Void> done = new CompletableFuture<>();
        begun.set(round);
        tryAgainAndAgain(
            threads,
            () -> {
              alone(inside);
              done.complete(null);
            });
        done.get();
      }
      other.get();
    } finally {
      threads.shutdownNow();
    }
  }

  private static void alone(AtomicInteger inside) {
    assertEquals(1, inside.incrementAndGet());
    inside.decrementAndGet();
  }

  private void tryAgainAndAgain(Executor threads, Runnable action) {
    models.unlessBusy("m", action, () -> threads.execute(() -> tryAgainAndAgain(threads, action)));
  }
}
