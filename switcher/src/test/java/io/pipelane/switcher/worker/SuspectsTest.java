package io.pipelane.switcher.worker;

import static org.junit.jupiter.api.Assertions.assertDoesNotThrow;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.lanes.execution.OutOfDeviceMemoryException;
import io.pipelane.lanes.execution.StopWord;
import io.pipelane.lanes.execution.WeightArrivals.Elsewhere;
import io.pipelane.lanes.execution.WorkerLostException.Blame;
import io.pipelane.modelstore.repository.ModelOptions.Priority;
import io.pipelane.switcher.memory.RunControl;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** A model whose runs end worker processes runs alone, and until when. */
@Timeout(20)
class SuspectsTest extends RetriesFixture {
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

  /** Among those that do not begin is one for which there is no worker in time. */
  @Test
  void run_thatDoesNotBegin_endsNoSuspicion_oneThatFailsDoes() {
    for (Status status : Status.values()) {
      retries.forget(MODEL);
      losingLate(MODEL);
      assertThrows(
          StatusException.class,
          () ->
              run(
                  MODEL,
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
              run(
                  MODEL,
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
            run(
                MODEL,
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
                  run(
                      MODEL,
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
            run(
                MODEL,
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
                run(OTHER, othersDone::incrementAndGet);
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
}
