package io.pipelane.server.catalog;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.modelstore.ModelVersion;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class SessionBuildsTest {
  private final AtomicBoolean idle = new AtomicBoolean(true);
  private final AtomicLong nanos = new AtomicLong();
  private final List<String> built = new ArrayList<>();
  private @Nullable SessionBuilds builds;

  private SessionBuilds builds(int count, Consumer<ModelVersion> work) {
    SessionBuilds made = new SessionBuilds(count, work, idle::get, nanos::get, nanos::addAndGet);
    builds = made;
    return made;
  }

  @AfterEach
  void nothingRunsOn() throws InterruptedException {
    SessionBuilds made = builds;
    if (made != null) {
      made.stop();
      assertTrue(made.await(Duration.ofSeconds(30)));
    }
  }

  private void note(ModelVersion version) {
    synchronized (built) {
      built.add(version.model());
    }
  }

  private static void await(CountDownLatch latch) {
    try {
      latch.await();
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
  }

  private static ModelVersion model(String name) {
    return new ModelVersion(name, 1);
  }

  @Test
  void mostPopular_isNextWhateverCameBefore_andThoseAlikeAreInTheirOrder() {
    CountDownLatch told = new CountDownLatch(1);
    SessionBuilds one =
        builds(
            1,
            version -> {
              await(told);
              note(version);
            });
    List<CompletableFuture<Void>> all =
        List.of(
            one.add(model("first to come"), 0),
            one.add(model("never asked"), Double.NEGATIVE_INFINITY),
            one.add(model("nor this"), Double.NEGATIVE_INFINITY),
            one.add(model("seldom"), -5),
            one.add(model("often"), 3));
    told.countDown();
    all.forEach(CompletableFuture::join);
    assertEquals(List.of("first to come", "often", "seldom", "never asked", "nor this"), built);
  }

  @Test
  void several_areBuiltAtATime() {
    CountDownLatch both = new CountDownLatch(2);
    SessionBuilds two =
        builds(
            2,
            version -> {
              both.countDown();
              await(both); // Would wait for ever if there were one at a time.
            });
    CompletableFuture.allOf(two.add(model("a"), 0), two.add(model("b"), 0)).join();
  }

  @Test
  void build_whileTheServerHasSomethingToDo_waitsUntilItHasNot() {
    AtomicInteger looks = new AtomicInteger();
    SessionBuilds one =
        new SessionBuilds(
            1, this::note, () -> looks.incrementAndGet() > 3, nanos::get, nanos::addAndGet);
    builds = one;
    one.add(model("a"), 0).join();
    assertEquals(4, looks.get());
    assertEquals(List.of("a"), built);
  }

  @Test
  void build_onAServerThatIsNeverIdle_isBegunAfterALimit() {
    idle.set(false);
    builds(1, this::note).add(model("a"), 0).join();
    assertEquals(SessionBuilds.LONGEST_WAIT.toNanos(), nanos.get());
    assertEquals(List.of("a"), built);
  }

  @Test
  void failure_keepsNothingElseFromBeingBuilt() {
    SessionBuilds one =
        builds(
            1,
            version -> {
              note(version);
              if (version.model().equals("bad")) {
                throw new AssertionError("on purpose");
              }
            });
    CompletableFuture<Void> bad = one.add(model("bad"), 1);
    CompletableFuture.allOf(bad, one.add(model("good"), 0)).join();
    assertEquals(List.of("bad", "good"), built);
  }

  @Test
  void stop_endsTheWaitAndBuildsNothingMore() {
    CountDownLatch waits = new CountDownLatch(1);
    CountDownLatch stopped = new CountDownLatch(1);
    SessionBuilds one =
        new SessionBuilds(
            1,
            this::note,
            () -> {
              waits.countDown();
              await(stopped);
              return false;
            },
            nanos::get,
            nanos::addAndGet);
    builds = one;
    CompletableFuture<Void> begun = one.add(model("a"), 0);
    CompletableFuture<Void> queued = one.add(model("b"), 0);
    await(waits);
    Thread.startVirtualThread(one::stop);
    queued.join();
    stopped.countDown();
    begun.join();
    one.add(model("c"), 0).join();
    assertEquals(List.of(), built);
  }
}
