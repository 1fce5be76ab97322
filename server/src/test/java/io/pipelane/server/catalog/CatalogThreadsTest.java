package io.pipelane.server.catalog;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.modelstore.ModelVersion;
import io.pipelane.modelstore.repository.ModelOptions.Priority;
import io.pipelane.modelstore.repository.VersionChoice;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class CatalogThreadsTest {
  private final CatalogModels models =
      new CatalogModels(
          name ->
              new CatalogModel(name, VersionChoice.NONE, _ -> List.of(), _ -> Optional.empty()));
  private final CatalogThreads threads = new CatalogThreads(models, 1);
  private final List<String> done = Collections.synchronizedList(new ArrayList<>());
  private final CountDownLatch begun = new CountDownLatch(1);
  private final CountDownLatch goOn = new CountDownLatch(1);

  /** An import that takes the only thread until the latch opens, or all stops. */
  private CompletableFuture<Void> importThatTakesLong() throws InterruptedException {
    CompletableFuture<Void> importing =
        threads.importNew(
            version("first"),
            () -> {
              begun.countDown();
              try {
                goOn.await();
                done.add("first");
              } catch (InterruptedException e) {
                done.add("interrupted");
              }
            });
    begun.await();
    return importing;
  }

  private static ModelVersion version(String model) {
    return new ModelVersion(model, 1);
  }

  private CompletableFuture<Void> importNew(String model) {
    return threads.importNew(version(model), () -> work(model));
  }

  private void work(String name) {
    if (!threads.isStopping()) {
      done.add(name);
    }
  }

  @Test
  void change_waitsForTheImportUnderWay_andNotForThoseInLine() throws Exception {
    CompletableFuture<Void> first = importThatTakesLong();
    List<CompletableFuture<Void>> all = new ArrayList<>(List.of(first));
    for (int i = 0; i < 300; i++) {
      all.add(importNew("new-" + i));
    }
    CompletableFuture<Void> changed = threads.importChange("changed", () -> work("changed"));
    threads.ask(version("new-299"), Priority.ONLINE);
    threads.operate(() -> work("loaded")).join(); // Nothing that runs or waits is in its way.
    goOn.countDown();
    changed.join();
    all.forEach(CompletableFuture::join);
    assertEquals(
        List.of("loaded", "first", "changed", "new-299", "new-0", "new-1"), done.subList(0, 6));
    assertEquals(303, done.size());
  }

  /** An owner's load may wait for its turn for minutes. */
  @Test
  void modelThatIsBeingLoaded_keepsNoOtherWaiting() throws Exception {
    CompletableFuture<Void> loading = threads.operate(() -> models.exclusively("m", this::load));
    begun.await();
    CompletableFuture<Void> ofLoaded =
        CompletableFuture.allOf(
            threads.importChange("m", () -> exclusiveWork("m changed")),
            threads.importKnown("m", () -> exclusiveWork("m known")),
            threads.importNew(version("m"), () -> exclusiveWork("m new")));
    CompletableFuture.allOf(
            threads.importChange("other", () -> work("other changed")), importNew("other new"))
        .get();
    assertEquals(List.of("other changed", "other new"), done);
    assertFalse(ofLoaded.isDone());
    goOn.countDown();
    loading.get();
    ofLoaded.get();
    assertEquals(List.of("loaded", "m changed", "m known", "m new"), done.subList(2, done.size()));
  }

  /** Else a model's second version would begin anew behind all others when its turn came early. */
  @Test
  void newVersionThatGaveItsTurnOn_isTheNextOneOnceItsModelIsFree() throws Exception {
    CompletableFuture<Void> loading = threads.operate(() -> models.exclusively("m", this::load));
    begun.await();
    CountDownLatch inOther = new CountDownLatch(1);
    CountDownLatch endOther = new CountDownLatch(1);
    CompletableFuture<Void> first = threads.importNew(version("m"), () -> exclusiveWork("m new"));
    CompletableFuture<Void> other =
        threads.importNew(
            version("other"),
            () -> {
              inOther.countDown();
              models.exclusively("other", _ -> awaitThenNote(endOther, "other"));
            });
    inOther.await(); // So the first has given its turn on.
    List<CompletableFuture<Void>> all = List.of(first, other, importNew("a"), importNew("b"));
    goOn.countDown();
    loading.get();
    endOther.countDown();
    all.forEach(CompletableFuture::join);
    assertEquals(List.of("loaded", "other", "m new", "a", "b"), done);
  }

  private void awaitThenNote(CountDownLatch latch, String name) {
    try {
      latch.await();
      done.add(name);
    } catch (InterruptedException e) {
      done.add("interrupted");
    }
  }

  private void load(CatalogModel model) {
    begun.countDown();
    awaitThenNote(goOn, "loaded");
  }

  private void exclusiveWork(String name) {
    if (!threads.isStopping()) {
      models.exclusively("m", _ -> work(name));
    }
  }

  @Test
  void stop_completesWhatWaitsForALoad() throws Exception {
    CompletableFuture<Void> loading = threads.operate(() -> models.exclusively("m", this::load));
    begun.await();
    CompletableFuture<Void> ofLoaded =
        CompletableFuture.allOf(
            threads.importChange("m", () -> exclusiveWork("m changed")),
            threads.importNew(version("m"), () -> exclusiveWork("m new")));
    importNew("other").get(); // So those before it have given their turns on.
    threads.stop();
    CompletableFuture<Void> later = threads.importChange("m", () -> exclusiveWork("m later"));
    CompletableFuture.allOf(loading, ofLoaded, later).get();
    assertEquals(List.of("other", "interrupted"), done);
  }

  @Test
  void change_thatIsRefused_says() {
    CompletableFuture<Void> refused =
        threads.importChange(
            "changed",
            () -> {
              throw new IllegalStateException("refused");
            });
    CompletionException failure = assertThrows(CompletionException.class, refused::join);
    assertInstanceOf(IllegalStateException.class, failure.getCause());
  }

  @Test
  void stop_completesWhatWaits_andWhatComesLater() throws Exception {
    CompletableFuture<Void> first = importThatTakesLong();
    CompletableFuture<Void> waits = importNew("waits");
    CompletableFuture<Void> changed = threads.importChange("changed", () -> work("changed"));
    threads.stop();
    CompletableFuture<Void> later = importNew("later");
    CompletableFuture.allOf(first, waits, changed, later).join();
    assertEquals(List.of("interrupted"), done);
    SessionBuilds none = new SessionBuilds(1, _ -> {}, () -> true, System::nanoTime, _ -> {});
    none.stop();
    assertTrue(none.await(Duration.ofSeconds(30)));
    threads.await(none);
  }
}
