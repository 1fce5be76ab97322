package io.pipelane.switcher.worker;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.lanes.execution.WorkerLostException.Blame;
import io.pipelane.modelstore.repository.ModelOptions.Priority;
import java.util.Collections;
import java.util.Iterator;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Consumer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Preparations and builds that are lost with their worker process are done again. */
@Timeout(20)
class PreparationRetriesTest extends RetriesFixture {
  /** Room that is lost with a process is made again outside, which forgives nothing. */
  @Test
  void prepare_lostBeforeAndAfterRoomIsMade_countsBoth() {
    Consumer<Runnable> preparing = retries.preparing(MODEL, Priority.ONLINE);
    Runnable lostAndWithoutRoom =
        () -> {
          if (attempts.incrementAndGet() % 2 == 0) {
            throw new NoSessionRoomException("it", 1);
          }
          throw lost(Blame.ALONE);
        };
    assertThrows(NoSessionRoomException.class, () -> preparing.accept(lostAndWithoutRoom));
    StatusException error =
        assertThrows(StatusException.class, () -> preparing.accept(lostAndWithoutRoom));
    assertEquals(Status.UNAVAILABLE, error.status());
    assertEquals(3, attempts.get());
  }

  @Test
  void prepare_lostTwice_isRefusedAndMayBeTriedAnew() {
    AtomicInteger losses = new AtomicInteger(3);
    Runnable work =
        () -> {
          attempts.incrementAndGet();
          if (losses.getAndDecrement() > 0) {
            throw lost(Blame.ALONE);
          }
        };
    StatusException error = assertThrows(StatusException.class, () -> prepare(work));
    assertEquals(Status.UNAVAILABLE, error.status());
    prepare(work);
    assertEquals(4, attempts.get());
    losing(MODEL, 0);
  }

  /** Otherwise each loss of the suspect's would be its own as well. */
  @Test
  void prepare_aSuspectRuns_waits() {
    CountDownLatch built = new CountDownLatch(1);
    AtomicLong notBuilt = new AtomicLong();
    run(
        MODEL,
        () -> {
          if (attempts.incrementAndGet() == 1) {
            throw lost(Blame.UNKNOWN);
          }
          Thread beside =
              Thread.ofPlatform()
                  .start(() -> retries.preparing(OTHER, Priority.ONLINE).accept(built::countDown));
          while (built.getCount() > 0 && beside.getState() != Thread.State.WAITING) {
            Thread.onSpinWait();
          }
          notBuilt.set(built.getCount());
        });
    assertEquals(1, notBuilt.get());
    await(built);
  }

  /** What is built may be why: it is built alone. */
  @Test
  void prepare_lostAmongOthers_othersWaitForTheNextAttempt() {
    CountDownLatch ran = new CountDownLatch(1);
    AtomicLong notRun = new AtomicLong();
    prepare(
        () -> {
          if (attempts.incrementAndGet() == 1) {
            throw lost(Blame.UNKNOWN);
          }
          Thread beside = Thread.ofPlatform().start(() -> run(OTHER, ran::countDown));
          while (ran.getCount() > 0 && beside.getState() != Thread.State.WAITING) {
            Thread.onSpinWait();
          }
          notRun.set(ran.getCount());
        });
    assertEquals(1, notRun.get());
    await(ran);
  }

  @Test
  void prepare_lostAmongOthers_isDoneAFewTimesAndRefusedThen() {
    prepareLosing(Blame.UNKNOWN, Blame.UNKNOWN, Blame.UNKNOWN);
    assertEquals(4, attempts.get());
    StatusException error =
        assertThrows(
            StatusException.class,
            () -> prepareLosing(Collections.nCopies(9, Blame.UNKNOWN).toArray(Blame[]::new)));
    assertTrue(error.toString().contains("lost 4 times, perhaps for others"), error.toString());
    assertEquals(8, attempts.get());
    assertThrows(
        StatusException.class, () -> prepareLosing(Blame.UNKNOWN, Blame.ALONE, Blame.ALONE));
    assertEquals(11, attempts.get());
  }

  private void prepareLosing(Blame... blames) {
    Iterator<Blame> left = List.of(blames).iterator();
    prepare(
        () -> {
          attempts.incrementAndGet();
          if (left.hasNext()) {
            throw lost(left.next());
          }
        });
  }

  @Test
  void build_betweenTwoLosses_endsNoSuspicion() {
    losingLate(MODEL);
    retries.build(MODEL, Priority.ONLINE, attempts::incrementAndGet);
    assertEquals(1, attempts.get());
    losingLate(MODEL);
    assertTrue(retries.quarantine(MODEL).isPresent());
  }

  @Test
  void build_lostTwice_quarantinesTheModel() {
    Runnable losing =
        () -> {
          attempts.incrementAndGet();
          throw lost(Blame.ALONE);
        };
    assertThrows(StatusException.class, () -> retries.build(MODEL, Priority.ONLINE, losing));
    assertEquals(2, attempts.get());
    assertTrue(retries.quarantine(MODEL).isPresent());
  }
}
