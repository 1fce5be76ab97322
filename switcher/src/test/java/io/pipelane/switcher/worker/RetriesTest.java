package io.pipelane.switcher.worker;

import static org.junit.jupiter.api.Assertions.assertDoesNotThrow;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.lanes.execution.OutOfDeviceMemoryException;
import io.pipelane.lanes.execution.StopWord;
import io.pipelane.lanes.execution.WeightArrivals.Elsewhere;
import io.pipelane.lanes.execution.WorkerLostException;
import io.pipelane.lanes.execution.WorkerLostException.Blame;
import io.pipelane.modelstore.ModelVersion;
import io.pipelane.modelstore.repository.ModelOptions.Priority;
import io.pipelane.switcher.memory.RunControl;
import java.util.Collections;
import java.util.Iterator;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Consumer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(20)
class RetriesTest {
  private static final ModelVersion MODEL = new ModelVersion("m", 1);
  private static final ModelVersion OTHER = new ModelVersion("other", 1);

  private boolean deviceIsLost;
  private final Retries retries = new Retries(() -> deviceIsLost, false);
  private final AtomicInteger attempts = new AtomicInteger();

  private static WorkerLostException lost(Blame blame) {
    return new WorkerLostException("worker 7 ended", blame);
  }

  private void losing(ModelVersion model, int times) {
    int until = attempts.get() + times;
    retries.run(
        model,
        Priority.ONLINE,
        () -> false,
        RunControl.NONE,
        () -> {
          if (attempts.incrementAndGet() <= until) {
            throw lost(Blame.ALONE);
          }
        });
  }

  @Test
  void attempt_lostOnce_isDoneAgainAndNothingIsHeldAgainstTheModel() {
    losing(MODEL, 1);
    assertEquals(2, attempts.get());
    losing(MODEL, 1);
    assertEquals(4, attempts.get());
    assertTrue(retries.quarantine(MODEL).isEmpty());
    losing(MODEL, 0);
    assertEquals(new RetryOverview(2, 0, 0, 0), retries.overview());
  }

  /** Another device is asked at once, and the model is not to blame. */
  @Test
  void attempt_lostWithItsDevice_isNotDoneAgain() {
    deviceIsLost = true;
    StatusException error = assertThrows(StatusException.class, () -> losing(MODEL, 2));
    assertEquals(Status.DEVICE_FAILURE, error.status());
    assertEquals(1, attempts.get());
    deviceIsLost = false;
    losing(MODEL, 1);
    assertTrue(retries.quarantine(MODEL).isEmpty());
  }

  /** The next worker does not come in time. */
  @Test
  void attempt_deadlinePassesWhileItWaitsForAWorker_isToldSo() {
    AtomicLong late = new AtomicLong();
    StatusException error =
        assertThrows(
            StatusException.class,
            () ->
                retries.run(
                    MODEL,
                    Priority.ONLINE,
                    () -> late.get() > 0,
                    RunControl.NONE,
                    () -> {
                      if (attempts.incrementAndGet() == 1) {
                        throw lost(Blame.ALONE);
                      }
                      late.set(1);
                      throw new StatusException(Status.UNAVAILABLE, "no worker is ready");
                    }));
    assertEquals(Status.UNAVAILABLE, error.status());
    assertTrue(error.toString().contains("its deadline has passed"), error.toString());
    assertInstanceOf(WorkerLostException.class, error.getCause());
    assertEquals(2, attempts.get());
    assertEquals(new RetryOverview(0, 0, 1, 0), retries.overview());
  }

  @Test
  void attempt_lostTwice_quarantinesTheModelAloneUntilItIsForgotten() {
    StatusException error = assertThrows(StatusException.class, () -> losing(MODEL, 2));
    assertEquals(Status.UNAVAILABLE, error.status());
    assertTrue(error.toString().contains("worker 7 ended"), error.toString());
    assertTrue(error.toString().contains("m/1"), error.toString());
    assertInstanceOf(WorkerLostException.class, error.getCause());
    assertThrows(StatusException.class, () -> losing(MODEL, 0));
    assertEquals(2, attempts.get(), "a model in quarantine is not tried");
    assertTrue(retries.quarantine(MODEL).orElseThrow().contains("worker 7 ended"));
    assertEquals(new RetryOverview(0, 1, 0, 1), retries.overview());
    losing(OTHER, 0);
    retries.forget(MODEL);
    losing(MODEL, 0);
    assertTrue(retries.quarantine(MODEL).isEmpty());
  }

  private void prepare(Runnable work) {
    retries.preparing(MODEL, Priority.ONLINE).accept(work);
  }

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
    retries.run(
        MODEL,
        Priority.ONLINE,
        () -> false,
        RunControl.NONE,
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
          Thread beside =
              Thread.ofPlatform()
                  .start(
                      () ->
                          retries.run(
                              OTHER,
                              Priority.ONLINE,
                              () -> false,
                              RunControl.NONE,
                              ran::countDown));
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

  /** An offline suspect runs alone among offline runs, which keeps no online run waiting. */
  @Test
  void attempt_offlineApart_suspectsKeepNobodyOnlineWaiting() {
    Retries apart = new Retries(() -> false, true);
    apart.run(
        MODEL,
        Priority.OFFLINE,
        () -> false,
        RunControl.NONE,
        () -> {
          if (attempts.incrementAndGet() == 1) {
            throw lost(Blame.UNKNOWN);
          }
          AtomicInteger online = new AtomicInteger();
          Thread beside =
              Thread.ofPlatform()
                  .start(
                      () ->
                          apart.run(
                              OTHER,
                              Priority.ONLINE,
                              () -> false,
                              RunControl.NONE,
                              online::incrementAndGet));
          assertDoesNotThrow(() -> beside.join());
          assertEquals(1, online.get());
        });
    assertEquals(2, attempts.get());
    assertTrue(apart.quarantine(MODEL).isEmpty());
  }

  @Test
  void attempt_failsOtherwise_isNotDoneAgain() {
    StatusException thrown = new StatusException(Status.INVALID_ARGUMENT, "thrown on purpose");
    StatusException error =
        assertThrows(
            StatusException.class,
            () ->
                retries.run(
                    MODEL,
                    Priority.ONLINE,
                    () -> false,
                    RunControl.NONE,
                    () -> {
                      attempts.incrementAndGet();
                      throw thrown;
                    }));
    assertEquals(thrown, error);
    assertEquals(1, attempts.get());
  }

  @Test
  void attempt_twoModelsLostTogether_areTriedOneAtATime() throws Exception {
    CountDownLatch bothLost = new CountDownLatch(2);
    AtomicInteger running = new AtomicInteger();
    try (ExecutorService threads = Executors.newFixedThreadPool(2)) {
      Future<?> one = threads.submit(() -> loseTogether(MODEL, bothLost, running));
      Future<?> other = threads.submit(() -> loseTogether(OTHER, bothLost, running));
      one.get(10, TimeUnit.SECONDS);
      other.get(10, TimeUnit.SECONDS);
    }
    assertTrue(retries.quarantine(MODEL).isEmpty());
    assertTrue(retries.quarantine(OTHER).isEmpty());
  }

  private void loseTogether(ModelVersion model, CountDownLatch bothLost, AtomicInteger running) {
    AtomicInteger own = new AtomicInteger();
    retries.run(
        model,
        Priority.ONLINE,
        () -> false,
        RunControl.NONE,
        () -> {
          if (own.incrementAndGet() == 1) {
            bothLost.countDown();
            await(bothLost);
            throw lost(Blame.UNKNOWN);
          }
          assertFalse(running.incrementAndGet() > 1, "both suspects run");
          running.decrementAndGet();
        });
  }

  /** A run that loses its worker for each of the reasons in turn, and succeeds then. */
  private void losingFor(ModelVersion model, Blame... blames) {
    Iterator<Blame> left = List.of(blames).iterator();
    retries.run(
        model,
        Priority.ONLINE,
        () -> false,
        RunControl.NONE,
        () -> {
          attempts.incrementAndGet();
          if (left.hasNext()) {
            throw lost(left.next());
          }
        });
  }

  @Test
  void attempt_lostForOthersTimeAndAgain_isNoSuspectAndDoneInTheEnd() {
    losingFor(MODEL, Blame.OTHERS, Blame.OTHERS, Blame.ALONE);
    assertEquals(4, attempts.get());
    StatusException error =
        assertThrows(
            StatusException.class,
            () -> losingFor(MODEL, Collections.nCopies(9, Blame.OTHERS).toArray(Blame[]::new)));
    assertEquals(Status.UNAVAILABLE, error.status());
    assertEquals(4 + 5, attempts.get());
    assertTrue(retries.quarantine(MODEL).isEmpty());
  }

  @Test
  void attempt_lostTwiceAmongOthers_failsWithoutQuarantine() {
    StatusException error =
        assertThrows(StatusException.class, () -> losingFor(MODEL, Blame.UNKNOWN, Blame.UNKNOWN));
    assertTrue(error.toString().contains("interrupted again"), error.toString());
    assertInstanceOf(WorkerLostException.class, error.getCause());
    assertTrue(retries.quarantine(MODEL).isEmpty());
    losingFor(MODEL);
  }

  @Test
  void attempt_lostAmongOthersAndThenAlone_isQuarantined() {
    assertThrows(StatusException.class, () -> losingFor(MODEL, Blame.UNKNOWN, Blame.ALONE));
    assertTrue(retries.quarantine(MODEL).isPresent());
  }

  @Test
  void attempt_deadlineHasPassed_isNotDoneAgainAndSaysSo() {
    StatusException error =
        assertThrows(
            StatusException.class,
            () ->
                retries.run(
                    MODEL,
                    Priority.ONLINE,
                    () -> true,
                    RunControl.NONE,
                    () -> {
                      attempts.incrementAndGet();
                      throw lost(Blame.ALONE);
                    }));
    assertEquals(Status.UNAVAILABLE, error.status());
    assertTrue(error.toString().contains("deadline"), error.toString());
    assertInstanceOf(WorkerLostException.class, error.getCause());
    assertEquals(1, attempts.get());
  }

  /** A run that loses its worker, for certain, and is not done once more. */
  private void losingLate(ModelVersion model) {
    assertThrows(
        StatusException.class,
        () ->
            retries.run(
                model,
                Priority.ONLINE,
                () -> true,
                RunControl.NONE,
                () -> {
                  throw lost(Blame.ALONE);
                }));
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

  /** Among those that do not begin is one for which there is no worker in time. */
  @Test
  void run_thatDoesNotBegin_endsNoSuspicion_oneThatFailsDoes() {
    for (Status status : Status.values()) {
      retries.forget(MODEL);
      losingLate(MODEL);
      assertThrows(
          StatusException.class,
          () ->
              retries.run(
                  MODEL,
                  Priority.ONLINE,
                  () -> false,
                  RunControl.NONE,
                  () -> {
                    throw new StatusException(status, "thrown on purpose");
                  }));
      losingLate(MODEL);
      boolean hasRun =
          List.of(Status.INVALID_ARGUMENT, Status.UNIMPLEMENTED, Status.INTERNAL, Status.TOO_LARGE)
              .contains(status);
      assertEquals(hasRun, retries.quarantine(MODEL).isEmpty(), status.toString());
    }
  }

  /** Each such loss costs a worker, so it is repeated once, and quarantines nobody. */
  @Test
  void run_whoseProcessHasNoMemory_isRepeatedOnce() {
    AtomicInteger times = new AtomicInteger();
    for (int request = 1; request <= 3; request++) {
      assertThrows(
          StatusException.class,
          () ->
              retries.run(
                  MODEL,
                  Priority.ONLINE,
                  () -> false,
                  RunControl.NONE,
                  () -> {
                    times.incrementAndGet();
                    throw lost(Blame.SHORTAGE);
                  }));
      assertEquals(2 * request, times.get());
    }
    assertTrue(retries.quarantine(MODEL).isEmpty());
  }

  /** The server lacks memory for what was computed: its model has kept its process. */
  @Test
  void run_whoseOutputsFindNoRoom_isASuspectNoLonger() {
    losingLate(MODEL);
    StatusException noRoom =
        StatusException.unavailable("no room for its outputs", new OutOfMemoryError("on purpose"));
    assertThrows(
        StatusException.class,
        () ->
            retries.run(
                MODEL,
                Priority.ONLINE,
                () -> false,
                RunControl.NONE,
                () -> {
                  throw noRoom;
                }));
    losingLate(MODEL);
    assertTrue(retries.quarantine(MODEL).isEmpty());
  }

  /** Nobody knows of such a run whether it has computed, but its process lives each time. */
  @Test
  void run_lacksMemoryTimeAndAgain_isASuspectNoLonger() {
    List<RuntimeException> shortages =
        List.of(
            new StatusException(Status.INSUFFICIENT_MEMORY, "on purpose"),
            new OutOfDeviceMemoryException(1));
    losingLate(MODEL);
    for (int i = 0; i < 4; i++) {
      RuntimeException shortage = shortages.get(i % 2);
      assertEquals(
          shortage,
          assertThrows(
              RuntimeException.class,
              () ->
                  retries.run(
                      MODEL,
                      Priority.ONLINE,
                      () -> false,
                      RunControl.NONE,
                      () -> {
                        throw shortage;
                      })));
    }
    losingLate(MODEL);
    assertTrue(retries.quarantine(MODEL).isEmpty());
  }

  /** A run of a model that is lost among others, and then done once more. */
  private Future<?> suspect(ExecutorService threads, Runnable again) {
    AtomicInteger own = new AtomicInteger();
    return threads.submit(
        () ->
            retries.run(
                MODEL,
                Priority.ONLINE,
                () -> false,
                RunControl.NONE,
                () -> {
                  if (own.incrementAndGet() == 1) {
                    throw lost(Blame.UNKNOWN);
                  }
                  again.run();
                }));
  }

  @Test
  void attempt_suspectRuns_nothingElseDoes() throws Exception {
    CountDownLatch suspectRuns = new CountDownLatch(1);
    CountDownLatch otherWaits = new CountDownLatch(1);
    AtomicInteger othersDone = new AtomicInteger();
    AtomicInteger seenBySuspect = new AtomicInteger(-1);
    try (ExecutorService threads = Executors.newFixedThreadPool(2)) {
      Future<?> suspect =
          suspect(
              threads,
              () -> {
                suspectRuns.countDown();
                await(otherWaits);
                seenBySuspect.set(othersDone.get());
              });
      await(suspectRuns);
      Future<?> other =
          threads.submit(
              () -> {
                otherWaits.countDown();
                retries.run(
                    OTHER,
                    Priority.ONLINE,
                    () -> false,
                    RunControl.NONE,
                    othersDone::incrementAndGet);
              });
      suspect.get(10, TimeUnit.SECONDS);
      other.get(10, TimeUnit.SECONDS);
    }
    assertEquals(0, seenBySuspect.get());
    assertEquals(1, othersDone.get());
  }

  @Test
  void attempt_waitsForASuspectThatIsPausedForIt_leavesItsTurnMeanwhile() throws Exception {
    CountDownLatch suspectRuns = new CountDownLatch(1);
    LeftAndTaken other = new LeftAndTaken();
    try (ExecutorService threads = Executors.newFixedThreadPool(2)) {
      Future<?> suspect =
          suspect(
              threads,
              () -> {
                suspectRuns.countDown();
                await(other.left);
              });
      await(suspectRuns);
      Future<?> waits =
          threads.submit(() -> retries.run(OTHER, Priority.ONLINE, () -> false, other, () -> {}));
      suspect.get(10, TimeUnit.SECONDS);
      waits.get(10, TimeUnit.SECONDS);
    }
    assertEquals(0, other.taken.getCount());
  }

  /** A turn that is left and taken again once. */
  private static final class LeftAndTaken implements RunControl {
    final CountDownLatch left = new CountDownLatch(1);
    final CountDownLatch taken = new CountDownLatch(1);

    @Override
    public void leave() {
      left.countDown();
    }

    @Override
    public void retake() {
      assertEquals(0, left.getCount());
      taken.countDown();
    }

    @Override
    public void beforeSegment(int segment) {}

    @Override
    public Elsewhere computesElsewhere(StopWord word) {
      return () -> {};
    }
  }

  private static void await(CountDownLatch latch) {
    try {
      assertTrue(latch.await(10, TimeUnit.SECONDS));
    } catch (InterruptedException e) {
      throw new AssertionError(e);
    }
  }
}
