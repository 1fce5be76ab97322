package io.pipelane.lanes.process.channel;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Both sides' words in one memory; pauses are bounded from below only. */
@Timeout(value = 20, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class GoWordTest {
  private static final long SEGMENT_NANOS = 3_000_000;

  private final MemorySegment memory = Arena.ofShared().allocate(GoWord.BYTES + Progress.BYTES, 64);
  private final Progress progress = new Progress(memory.asSlice(GoWord.BYTES, Progress.BYTES));
  private final GoWord server = new GoWord(memory.asSlice(0, GoWord.BYTES), progress);
  private final GoWord worker = new GoWord(memory.asSlice(0, GoWord.BYTES), progress);

  private static long compute() {
    long begin = System.nanoTime();
    while (System.nanoTime() - begin < SEGMENT_NANOS) {
      Thread.onSpinWait();
    }
    return System.nanoTime() - begin;
  }

  private void awaitStanding() {
    while (!server.stands()) {
      Thread.onSpinWait();
    }
  }

  @Test
  void pass_nothingIsSaid_goesOn() {
    worker.pass(0);
    worker.pass(1);
    assertFalse(server.stands());
    assertEquals(0, progress.steps(), "whoever goes on says so itself");
  }

  /** Whatever the server says meanwhile, which knows nothing of that. */
  @Test
  void endHere_runStandsAtItsGate_endsAndSoDoAllThatComeAfterIt() throws Exception {
    server.allow(0);
    AtomicReference<Throwable> ended = new AtomicReference<>();
    Thread run =
        Thread.ofPlatform()
            .uncaughtExceptionHandler((_, e) -> ended.set(e))
            .start(() -> worker.pass(3));
    awaitStanding();
    worker.endHere();
    run.join();
    assertEquals(Status.CANCELLED, ((StatusException) ended.get()).status());
    server.begin();
    assertThrows(StatusException.class, () -> worker.pass(0));
    server.allow(1);
    assertThrows(StatusException.class, () -> worker.pass(1));
    server.allow(0);
    assertThrows(StatusException.class, () -> worker.pass(2), "it does not sleep either");
    assertFalse(server.stands());
  }

  @Test
  void pass_stopped_standsUntilItMayGoOn() throws Exception {
    server.allow(0);
    assertTrue(server.isStopped());
    assertFalse(server.stands(), "it has not come to its gate");
    Thread run = Thread.ofPlatform().start(() -> worker.pass(3));
    awaitStanding();
    assertFalse(run.join(Duration.ofMillis(50)));
    server.allow(1);
    run.join();
    assertFalse(server.stands());
  }

  @Test
  void pass_stoppedAndAwake_isLetGoWithoutASystemCall() throws Exception {
    server.allow(0);
    Thread run = Thread.ofPlatform().start(() -> worker.pass(3, Duration.ofMinutes(1).toNanos()));
    awaitStanding();
    server.allow(1);
    run.join();
    assertFalse(server.stands());
  }

  @Test
  void pass_halfTheSpeed_pausesForAsLongAsTheSegmentTookAndShowsThatItLives() {
    server.allow(0.5);
    assertFalse(server.isStopped());
    worker.pass(0);
    assertEquals(0, progress.steps(), "nothing was computed yet");
    long computed = compute();
    long begin = System.nanoTime();
    worker.pass(1);
    assertTrue(System.nanoTime() - begin >= computed * 0.99);
    assertTrue(progress.steps() > 0);
  }

  /** A pause of minutes, were the share not raised. */
  @Test
  void pass_shareIsRaised_goesOnAtOnce() throws Exception {
    server.allow(0.0001);
    worker.pass(0);
    compute();
    Thread run = Thread.ofPlatform().start(() -> worker.pass(1));
    awaitStanding();
    server.allow(1);
    run.join();
    assertFalse(server.stands());
  }

  /** What it has stood for its share is not stood again. */
  @Test
  void pass_stoppedThenSlowed_theStopCountsAsPause() throws Exception {
    worker.pass(0);
    compute();
    server.allow(0);
    Thread run = Thread.ofPlatform().start(() -> worker.pass(1));
    awaitStanding();
    assertFalse(run.join(Duration.ofNanos(4 * SEGMENT_NANOS)));
    server.allow(0.999_9);
    run.join();
  }

  @Test
  void pass_workIsExpectedWithinTheNextSegment_waitsUntilItHasComeAndGone() throws Exception {
    worker.pass(0);
    compute();
    server.expect(SEGMENT_NANOS / 2, Duration.ofMinutes(1).toNanos());
    Thread run = Thread.ofPlatform().start(() -> worker.pass(1));
    awaitStanding();
    server.allow(0);
    assertFalse(run.join(Duration.ofMillis(50)));
    server.expect(0, 0);
    server.allow(1);
    run.join();
    assertFalse(server.stands());
    assertTrue(progress.steps() > 0, "it shows that it lives");
  }

  @Test
  void pass_workThatIsExpectedIsLate_waitsNoLonger() {
    worker.pass(0);
    compute();
    long begin = System.nanoTime();
    server.expect(0, SEGMENT_NANOS);
    worker.pass(1);
    assertTrue(System.nanoTime() - begin >= SEGMENT_NANOS);
    server.begin();
    server.expect(Duration.ofMinutes(1).toNanos(), Duration.ofMinutes(2).toNanos());
    compute();
    worker.pass(2); // Which would not run into it.
  }

  @Test
  void end_ofARunThatStands_endsItWhateverIsAllowed() throws Exception {
    server.allow(0);
    AtomicReference<Status> ended = new AtomicReference<>();
    Thread run =
        Thread.ofPlatform()
            .start(
                () ->
                    ended.set(assertThrows(StatusException.class, () -> worker.pass(3)).status()));
    awaitStanding();
    server.end();
    run.join();
    assertEquals(Status.CANCELLED, ended.get());
    assertFalse(server.stands());
    assertFalse(server.isStopped(), "it is to get on, to its end");
    server.allow(1);
    server.allow(0);
    assertThrows(StatusException.class, () -> worker.pass(4));
    server.begin();
    worker.pass(0);
  }

  @Test
  void end_ofARunThatIsSlowedDown_doesNotWaitForItsPause() {
    server.allow(0.0001);
    worker.pass(0);
    compute();
    server.end();
    assertThrows(StatusException.class, () -> worker.pass(1));
  }

  @Test
  void allow_anyShareAboveNothing_doesNotStop() {
    server.allow(1e-9);
    assertFalse(server.isStopped());
    server.allow(-1);
    assertTrue(server.isStopped());
    server.allow(2);
    assertFalse(server.isStopped());
  }
}
