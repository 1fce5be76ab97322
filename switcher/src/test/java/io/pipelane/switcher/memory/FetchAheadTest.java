package io.pipelane.switcher.memory;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.modelstore.ImportedModel;
import io.pipelane.modelstore.repository.ModelOptions.Priority;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Future;
import java.util.stream.Collectors;
import jdk.jfr.Recording;
import jdk.jfr.consumer.RecordedEvent;
import jdk.jfr.consumer.RecordingFile;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What comes in before it is asked for, and whose way it keeps out of. */
class FetchAheadTest extends DaemonTest {
  private boolean fetch(ImportedModel... queued) {
    return daemon
        .idleLink()
        .fetchAhead(List.of(queued).stream().map(ImportedModel::version).toList());
  }

  @Test
  void fetch_runsTransferIsUnderWay_waitsForItsEnd() {
    ImportedModel running = registered("running", 2, 2);
    ImportedModel next = registered("next", 4);
    daemon.acquire(running.version()).close();
    assertFalse(fetch(next));
    device.completeNext();
    assertFalse(fetch(next));
    device.completeNext();
    assertTrue(fetch(next));
    assertEquals(2, device.pending(), "a page, and one behind it");
  }

  @Test
  void fetch_firstInLine_itsPagesFollowEachOtherTwoAtATime() {
    ImportedModel first = registered("first", 4);
    ImportedModel second = registered("second", 4);
    assertTrue(fetch(first, second));
    assertTrue(fetch(first, second), "the same two are still on their way");
    assertEquals(2, device.pending());
    device.completeNext();
    assertTrue(fetch(first, second));
    assertEquals(2, device.pending());
    assertEquals(3, residentPages(first));
    assertTrue(fetch(second, first), "another one is first now: nothing more behind those");
    assertEquals(2, device.pending());
    device.completeNext();
    assertTrue(fetch(second, first));
    assertEquals(1, device.pending());
    device.completeNext();
    assertTrue(fetch(second, first));
    assertEquals(3, residentPages(first));
    assertEquals(2, residentPages(second));
    device.completeAll();
  }

  /** Whoever runs now does not wait until all of what runs next is there. */
  @Test
  void fetch_anotherVariantWaitsForTheRange_noMoreIsSentForTheOneThatIsMounted() throws Exception {
    ImportedModel next = variant("next");
    ImportedModel runs = variant("runs");
    use(next);
    daemon.evictions().evict(next.version(), PAGE);
    assertTrue(fetch(next));
    assertEquals(2, device.pending());
    long waits = daemon.counters().waits();
    Future<Lease> waiting = CompletableFuture.supplyAsync(() -> daemon.acquire(runs.version()));
    awaitWaits(waits + 1);
    device.completeNext();
    assertTrue(fetch(next));
    assertEquals(1, device.pending());
    device.completeNext();
    waiting.get().close();
    device.completeAll();
  }

  @Test
  void fetch_wishes_pagesComeOneAtATime() {
    ImportedModel model = registered("a", 4);
    daemon.idleLink().wish(model.version(), Optional.empty(), Priority.ONLINE);
    assertTrue(fetch());
    assertTrue(fetch());
    assertEquals(1, device.pending());
    device.completeAll();
  }

  @Test
  void fetch_pageBeforeHasFailed_noneIsSentBehindIt() {
    ImportedModel model = variant("a");
    use(variant("mounted"));
    assertTrue(fetch(model));
    assertEquals(2, device.pending());
    models.failAt(0);
    device.completeNext();
    models.failAt(Long.MAX_VALUE);
    assertTrue(fetch(model));
    assertEquals(1, device.pending());
    device.completeAll();
    assertFalse(fetch(model), "it rests");
    assertEquals(0, residentPages(model));
  }

  @Test
  void evictOnceIdle_pageUnderWay_waitsForNothingAndTheModelGoesWhenItHasCome() {
    ImportedModel model = registered("a", 2, 2);
    assertTrue(fetch(model));
    device.completeNext();
    daemon.evictions().evictOnceIdle(model.version());
    assertEquals(2, residentPages(model), "it is being written");
    device.completeAll();
    assertEquals(0, residentPages(model));
  }

  @Test
  void evictOnceIdle_askedForBeforeThePageHasCome_stays() {
    ImportedModel model = registered("a", 2, 2);
    assertTrue(fetch(model));
    daemon.evictions().evictOnceIdle(model.version());
    daemon.idleLink().wish(model.version(), Optional.empty(), Priority.ONLINE);
    device.completeAll();
    assertEquals(2, residentPages(model));
  }

  @Test
  void fetch_pagesUnderWay_runsCopiesComeRightBehindThem() {
    ImportedModel next = registered("next", 4);
    ImportedModel urgent = registered("urgent", 2, 1);
    assertTrue(fetch(next));
    Lease lease = daemon.acquire(urgent.version());
    assertEquals(4, device.pending());
    device.completeNext();
    device.completeNext();
    assertFalse(fetch(next), "no third page before the run's copies");
    device.completeNext();
    lease.await(0);
    requireContent(urgent, 0);
    device.completeNext();
    lease.close();
    assertTrue(fetch(next));
  }

  @Test
  void acquire_modelsPagesAreUnderWay_waitsForThemAndSendsForTheRestAlone() {
    ImportedModel model = registered("a", 1, 1, 2);
    assertTrue(fetch(model));
    Lease lease = daemon.acquire(model.version());
    assertEquals(3, device.pending());
    assertEquals(4, residentPages(model));
    device.completeAll();
    requireContent(lease, model);
    lease.close();
    assertEquals(2L * PAGE, daemon.counters().bytesLoaded());
    assertEquals(2L * PAGE, daemon.counters().bytesFetchedAhead());
    assertEquals(2, daemon.counters().pagesWanted());
  }

  @Test
  void fetch_pageByPage_untilTheModelIsThereAndNothingIsCopiedForTheRun() {
    ImportedModel model = registered("a", 2, 1);
    while (fetch(model)) {
      device.completeAll();
    }
    assertEquals(3, residentPages(model));
    Lease lease = daemon.acquire(model.version());
    requireContent(lease, model);
    lease.close();
    assertEquals(0, daemon.counters().bytesLoaded());
  }

  /** A recording is of the whole process: other tests' threads may fetch meanwhile. */
  @Test
  void recording_hasEveryPageThatCameAhead(@TempDir Path folder) throws IOException {
    Path file = folder.resolve("pages.jfr");
    ImportedModel model = registered("recorded", 2, 1);
    try (Recording recording = new Recording()) {
      recording.enable("pipelane.FetchAhead");
      recording.start();
      while (fetch(model)) {
        device.completeAll();
      }
      recording.stop();
      recording.dump(file);
    }
    List<RecordedEvent> pages =
        RecordingFile.readAllEvents(file).stream()
            .filter(page -> page.getString("model").equals("recorded"))
            .toList();
    assertEquals(
        Set.of(0L, (long) PAGE, 2L * PAGE),
        pages.stream().map(page -> page.getLong("resident")).collect(Collectors.toSet()));
    assertEquals(3L * PAGE, pages.stream().mapToLong(page -> page.getLong("moved")).sum());
  }

  @Test
  void fetch_anotherVariantRunsInTheRange_goesToPagesOfItsOwn() {
    ImportedModel running = variant("running");
    ImportedModel next = variant("next");
    Lease lease = daemon.acquire(running.version());
    device.completeAll();
    requireContent(lease, running);
    assertTrue(fetch(next));
    device.completeNext();
    assertTrue(fetch(next));
    device.completeAll();
    requireContent(lease, running);
    lease.close();
    assertEquals(3, residentPages(next));
    Lease nextLease = daemon.acquire(next.version());
    assertEquals(1, device.pending());
    device.completeAll();
    requireContent(nextLease, next);
    nextLease.close();
  }

  @Test
  void mount_pageOfTheVariantIsUnderWay_runWaitsForIt() {
    ImportedModel running = variant("running");
    ImportedModel next = variant("next");
    use(running);
    assertTrue(fetch(next));
    Lease lease = daemon.acquire(next.version());
    assertTrue(entry(next).arriving());
    device.completeAll();
    requireContent(lease, next);
    lease.close();
  }

  @Test
  void fetch_memoryIsFull_takesFromThoseThatDoNotWait() {
    ImportedModel first = registered("first", 5);
    ImportedModel second = registered("second", 5);
    ImportedModel third = registered("third", 5);
    use(first);
    use(second);
    assertTrue(fetch(first, third));
    device.completeAll();
    assertEquals(5, residentPages(first), "it waits, too");
    assertEquals(4, residentPages(second));
    assertEquals(1, residentPages(third));
  }

  @Test
  void fetch_everythingIsInUse_fetchesNothing() {
    ImportedModel running = registered("running", 10);
    ImportedModel next = registered("next", 5);
    Lease lease = daemon.acquire(running.version());
    device.completeAll();
    assertFalse(fetch(next));
    lease.close();
  }

  @Test
  void fetch_pageFailsToCome_isRolledBackAndNotTriedAgainAheadOfARun() {
    ImportedModel model = registered("a", 2);
    models.failAt(0);
    assertTrue(fetch(model));
    device.completeAll();
    models.failAt(Long.MAX_VALUE);
    assertEquals(0, residentPages(model));
    assertFalse(fetch(model));
    use(model);
    assertEquals(2, residentPages(model));
  }

  @Test
  void fetch_pageHasFailedToCome_isTriedAgainAfterAWhile_aLongerOneEachTime() {
    ImportedModel model = registered("a", 2);
    models.failAt(0);
    assertTrue(fetch(model));
    device.completeAll();
    assertFalse(fetch(model));
    clock.addAndGet(Duration.ofSeconds(1).toNanos());
    assertTrue(fetch(model));
    device.completeAll();
    assertFalse(fetch(model));
    clock.addAndGet(Duration.ofSeconds(1).toNanos());
    assertFalse(fetch(model), "twice as long");
    models.failAt(Long.MAX_VALUE);
    clock.addAndGet(Duration.ofSeconds(1).toNanos());
    while (fetch(model)) {
      device.completeAll();
    }
    assertEquals(2, residentPages(model));
  }

  @Test
  void fetch_pageBehindCannotBeSentFor_restsThoughTheOneBeforeComes() {
    ImportedModel model = registered("a", 4);
    assertTrue(fetch(model));
    device.completeNext();
    models.failToOpen(true);
    assertTrue(fetch(model), "the second is on its way");
    models.failToOpen(false);
    device.completeAll();
    assertFalse(fetch(model), "it rests");
    clock.addAndGet(Duration.ofSeconds(1).toNanos());
    assertTrue(fetch(model));
    device.completeAll();
  }

  @Test
  void fetch_hostHasNotTheWeights_leavesNothingAndLetsTheRunSayWhy() {
    ImportedModel model = registered("a", 2);
    models.failToOpen(true);
    assertFalse(fetch(model));
    models.failToOpen(false);
    assertEquals(0, residentPages(model));
  }

  @Test
  void wish_withDeadlines_theEarliestComesFirst_thoseThatAreLateWhenThereIsTime() {
    ImportedModel later = registered("later", 1);
    ImportedModel sooner = registered("sooner", 1);
    ImportedModel late = registered("late", 1);
    daemon.idleLink().wish(late.version(), Optional.of(Duration.ofSeconds(1)), Priority.ONLINE);
    clock.addAndGet(Duration.ofSeconds(2).toNanos());
    daemon.idleLink().wish(later.version(), Optional.empty(), Priority.ONLINE);
    daemon.idleLink().wish(sooner.version(), Optional.of(Duration.ofSeconds(1)), Priority.ONLINE);
    assertTrue(fetch());
    device.completeAll();
    assertEquals(1, residentPages(sooner));
    assertTrue(fetch());
    device.completeAll();
    assertTrue(fetch());
    device.completeAll();
    assertEquals(1, residentPages(late));
    assertEquals(1, residentPages(later));
    assertFalse(fetch());
  }

  /** A model that is asked all the time takes its pages back, and would have to give them again. */
  @Test
  void wish_doesNotFitBesideAHotModel_bringsEachPageInOnce() {
    ImportedModel hot = registered("hot", 8);
    ImportedModel wished = registered("wished", 6);
    use(hot);
    daemon.idleLink().wish(wished.version(), Optional.empty(), Priority.ONLINE);
    for (int i = 0; i < 100; i++) {
      clock.addAndGet(Duration.ofMillis(100).toNanos());
      if (fetch()) {
        device.completeAll();
      }
      use(hot);
    }
    assertEquals(6, daemon.counters().pagesWanted());
    assertEquals(8, residentPages(hot));
  }

  /** Of a model of two pages each fails once. */
  @Test
  void wish_pagesFailToCome_bringsThemInAllTheSame() {
    ImportedModel wished = registered("wished", 2);
    daemon.idleLink().wish(wished.version(), Optional.of(Duration.ofMinutes(1)), Priority.ONLINE);
    for (int page = 0; page < 2; page++) {
      models.failAt((long) page * PAGE);
      assertTrue(fetch());
      device.completeAll();
      assertFalse(fetch(), "it rests");
      assertEquals(page, residentPages(wished));
      models.failAt(Long.MAX_VALUE);
      clock.addAndGet(Duration.ofSeconds(1).toNanos());
      assertTrue(fetch());
      device.completeAll();
    }
    assertFalse(fetch());
    assertEquals(2, residentPages(wished));
  }

  @Test
  void wish_thatSaysNothing_comesBehindThoseThatSayWhen_howeverOldItIs() {
    ImportedModel old = registered("old", 1);
    ImportedModel soon = registered("soon", 1);
    daemon.idleLink().wish(old.version(), Optional.empty(), Priority.ONLINE);
    clock.addAndGet(Duration.ofSeconds(50).toNanos());
    daemon.idleLink().wish(soon.version(), Optional.of(Duration.ofSeconds(30)), Priority.ONLINE);
    assertTrue(fetch());
    device.completeAll();
    assertEquals(1, residentPages(soon));
    assertEquals(0, residentPages(old));
  }

  @Test
  void deregister_pageIsUnderWay_waitsForItsEnd() throws Exception {
    ImportedModel model = registered("a", 2);
    assertTrue(fetch(model));
    var gone = threads.submit(() -> daemon.deregister(model.version()));
    while (device.pending() > 0) {
      device.completeNext();
    }
    gone.get();
    assertEquals(0, daemon.ledger().lentBytes());
  }

  @Test
  void onLink_pageComes_listenerIsTold() {
    int[] told = {0};
    daemon.idleLink().onFree(() -> told[0]++);
    assertTrue(fetch(registered("a", 1)));
    device.completeAll();
    assertEquals(1, told[0]);
  }

  @Test
  void onLink_whatThePageCameFromCannotBeLetGo_listenerIsToldAllTheSame() {
    int[] told = {0};
    daemon.idleLink().onFree(() -> told[0]++);
    assertTrue(fetch(registered("a", 1)));
    models.afterNextClose(
        () -> {
          throw new IllegalStateException("on purpose");
        });
    device.completeAll();
    assertEquals(1, told[0]);
  }
}
