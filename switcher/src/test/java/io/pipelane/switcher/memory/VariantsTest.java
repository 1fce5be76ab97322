package io.pipelane.switcher.memory;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.modelstore.ImportedModel;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Variants of one structure take turns in its range. */
@Timeout(value = 20, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class VariantsTest extends DaemonTest {
  private final ImportedModel one = variant("one");
  private final ImportedModel two = variant("two");

  @Test
  void acquire_bothResident_isARemapWithoutACopy() {
    use(one);
    use(two);
    for (int i = 0; i < 10; i++) {
      use(one);
      use(two);
    }
    assertEquals(2, daemon.counters().loads());
    assertEquals(21, daemon.counters().remaps());
    assertEquals(4, residentPages(one));
    assertEquals(4, residentPages(two));
    assertEquals(1, device.openRanges());
  }

  @Test
  void register_sameHashButOtherSegments_isAnotherStructure() {
    ImportedModel other = register(FakeModels.variant("other", "shared", PAGE, 3L * PAGE));
    use(one);
    use(other);
    use(one);
    assertEquals(0, daemon.counters().remaps());
    assertEquals(2, device.openRanges());
  }

  @Test
  void register_unshared_isAnotherStructure() {
    ImportedModel own =
        register(FakeModels.variant("own", "shared", 2L * PAGE, 2L * PAGE).unshared());
    use(one);
    use(own);
    use(one);
    assertEquals(0, daemon.counters().remaps());
    assertEquals(2, device.openRanges());
  }

  @Test
  void deregister_oneOfTwo_leavesTheOtherAndItsRange() {
    use(one);
    use(two);
    daemon.deregister(two.version());
    assertEquals(1, device.openRanges());
    use(one);
    assertEquals(2, daemon.counters().loads());
    daemon.deregister(one.version());
    assertEquals(0, device.openRanges());
    assertEquals(0, daemon.ledger().lentBytes());
  }

  @Test
  void evict_variantThatIsNotMounted_givesItsPagesBack() {
    use(one);
    use(two);
    daemon.evictions().evict(one.version(), 0);
    assertEquals(0, residentPages(one));
    use(two);
    use(one);
    assertEquals(3, daemon.counters().loads());
  }

  @Test
  void acquire_whileAnotherVariantRuns_waitsAndNobodyPasses() throws Exception {
    use(one);
    use(two);
    use(one);
    Lease running = daemon.acquire(one.version());
    long waits = daemon.counters().waits();
    AtomicInteger order = new AtomicInteger();
    Future<Integer> second = acquireInThread(two, order);
    awaitWaits(waits + 1);
    Future<Integer> third = acquireInThread(one, order);
    awaitWaits(waits + 2);
    assertFalse(second.isDone());
    assertFalse(third.isDone());
    running.close();
    assertEquals(0, second.get());
    assertEquals(1, third.get());
  }

  private Future<Integer> acquireInThread(ImportedModel model, AtomicInteger order) {
    return threads.submit(
        () -> {
          try (Lease lease = daemon.acquire(model.version())) {
            requireContent(lease, model);
            return order.getAndIncrement();
          }
        });
  }

  @Test
  void acquire_whileAnotherVariantRuns_doesNotHoldUpOtherStructures() throws Exception {
    ImportedModel other = registered("other", 1);
    use(one);
    Lease running = daemon.acquire(one.version());
    long waits = daemon.counters().waits();
    Future<?> waiting =
        threads.submit(
            () -> {
              try (Lease lease = daemon.acquire(two.version())) {
                lease.awaitAll();
              }
            });
    awaitWaits(waits + 1);
    use(other);
    assertFalse(waiting.isDone());
    running.close();
    await(() -> device.pending() > 0);
    device.completeAll();
    await(
        () -> {
          device.completeAll();
          return waiting.isDone();
        });
    waiting.get();
  }

  @Test
  void acquire_variantsThatWaitAgainAndAgain_getARangeEach() throws Exception {
    roomForRange = true;
    use(one);
    use(two);
    for (int i = 0; i < 2; i++) {
      use(one);
      Lease running = daemon.acquire(one.version());
      long waits = daemon.counters().waits();
      Future<Integer> other = acquireInThread(two, new AtomicInteger());
      awaitWaits(waits + 1);
      assertFalse(other.isDone());
      running.close();
      other.get();
    }
    use(one);
    try (Lease first = daemon.acquire(one.version());
        Lease second = daemon.acquire(two.version())) {
      requireContent(first, one);
      requireContent(second, two);
      assertNotSame(first.range(), second.range());
      assertSame(first.range().structure(), second.range().structure());
    }
    assertEquals(2, device.openRanges());
    long remaps = daemon.counters().remaps();
    use(one);
    use(two);
    assertEquals(remaps, daemon.counters().remaps());
  }

  @Test
  void acquire_pagesCannotBeMapped_failsAndTheNextIsRight() {
    use(one);
    use(two);
    device.failMappingAfter(2);
    assertThrows(StatusException.class, () -> daemon.acquire(one.version()));
    daemon.ledger().verify();
    device.failMappingAfter(Integer.MAX_VALUE);
    use(one);
    use(two);
    assertEquals(2, daemon.counters().loads());
  }

  /** It goes while the structure before it is waited for; nothing is mounted that has gone. */
  @Test
  void acquireTogether_theSecondIsDeregisteredMeanwhile_isRefusedAndMovesNothing()
      throws Exception {
    ImportedModel first = register(FakeModels.variant("first", "a", 1L * PAGE));
    ImportedModel rival = register(FakeModels.variant("rival", "a", 1L * PAGE));
    use(two);
    Lease inTheWay = daemon.acquire(rival.version());
    device.completeAll();
    AtomicInteger waiting = new AtomicInteger();
    Future<?> together =
        threads.submit(
            () ->
                daemon
                    .parts()
                    .acquire(List.of(first.version(), one.version()), waiting::incrementAndGet));
    await(() -> waiting.get() > 0);
    daemon.deregister(one.version());
    long remaps = daemon.counters().remaps();
    inTheWay.close();
    ExecutionException refusal = assertThrows(ExecutionException.class, together::get);
    StatusException reason = assertInstanceOf(StatusException.class, refusal.getCause());
    assertEquals(Status.NOT_FOUND, reason.status());
    assertEquals(remaps + 1, daemon.counters().remaps(), "that of the first alone");
  }
}
