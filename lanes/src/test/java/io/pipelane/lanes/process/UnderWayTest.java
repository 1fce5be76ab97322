package io.pipelane.lanes.process;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.pipelane.lanes.execution.WorkerLostException.Blame;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.function.Supplier;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Two runs in one worker that is lost. */
@Timeout(20)
class UnderWayTest {
  private static final long NOW = 0;
  private static final long HALF_OF_PATIENCE = 1_000;

  private final UnderWay underWay = new UnderWay();
  private final ExecutorService one = Executors.newSingleThreadExecutor();
  private final ExecutorService other = Executors.newSingleThreadExecutor();

  @BeforeEach
  void begin() {
    on(one, underWay::begin);
    on(other, underWay::begin);
  }

  @AfterEach
  void end() {
    one.close();
    other.close();
  }

  private static <T> T on(ExecutorService run, Supplier<T> work) {
    return CompletableFuture.supplyAsync(work, run).join();
  }

  private void on(ExecutorService run, Runnable work) {
    CompletableFuture.runAsync(work, run).join();
  }

  private void standsFor(ExecutorService run, long nanos) {
    on(run, () -> underWay.standsSince(NOW - nanos));
  }

  /** Whose patience ends first has the process ended. */
  private void accuse(ExecutorService run) {
    standsFor(run, 2 * HALF_OF_PATIENCE);
    on(run, () -> underWay.accuseStandingSince(NOW - HALF_OF_PATIENCE, true));
    underWay.processEnded();
  }

  private Blame blame(ExecutorService run, boolean reached) {
    return on(run, () -> underWay.blame(reached));
  }

  @Test
  void hang_anotherStandsAsWell_eitherMayBeWhy() {
    standsFor(other, 3 * HALF_OF_PATIENCE);
    accuse(one);
    assertEquals(Blame.UNKNOWN, blame(one, true));
    assertEquals(Blame.UNKNOWN, blame(other, true));
  }

  @Test
  void hang_anotherHasComeBehind_eitherMayBeWhy() {
    standsFor(other, 1_500);
    accuse(one);
    assertEquals(Blame.UNKNOWN, blame(one, true));
    assertEquals(Blame.UNKNOWN, blame(other, true));
  }

  @Test
  void hang_anotherStandsThatHasNotBegun_isNotWhy() {
    standsFor(other, 3 * HALF_OF_PATIENCE);
    accuse(one);
    assertEquals(Blame.OTHERS, blame(other, false));
  }

  @Test
  void hang_anotherHasGotOnOrIsNotWaitedFor_isNamed() {
    standsFor(other, HALF_OF_PATIENCE / 2);
    accuse(one);
    standsFor(other, 3 * HALF_OF_PATIENCE); // What is said after that says nothing.
    assertEquals(Blame.NAMED, blame(one, false));
    assertEquals(Blame.OTHERS, blame(other, true));
  }

  @Test
  void hang_anotherHasStoodAndGetsOn_isNamed() {
    standsFor(other, 3 * HALF_OF_PATIENCE);
    on(other, underWay::getsOn);
    accuse(one);
    assertEquals(Blame.NAMED, blame(one, true));
    assertEquals(Blame.OTHERS, blame(other, true));
  }

  /** Another run stands in it, as the process does nothing at all. */
  @Test
  void deafness_nobodyIsWhy() {
    standsFor(other, 3 * HALF_OF_PATIENCE);
    on(one, underWay::accuseNobody);
    underWay.processEnded();
    assertEquals(Blame.OTHERS, blame(one, false));
    assertEquals(Blame.OTHERS, blame(other, true));
  }

  @Test
  void shortage_isNobodysAndNotOthersEither() {
    on(one, underWay::lackedMemory);
    underWay.processEnded();
    assertEquals(Blame.SHORTAGE, blame(one, true));
    assertEquals(Blame.SHORTAGE, blame(other, true));
    assertEquals(Blame.OTHERS, blame(other, false));
  }

  @Test
  void hang_beforeOnesHasBegun_anotherThatStandsIsNamed() {
    standsFor(other, 3 * HALF_OF_PATIENCE);
    on(one, () -> underWay.accuseStandingSince(NOW - HALF_OF_PATIENCE, false));
    underWay.processEnded();
    assertEquals(Blame.OTHERS, blame(one, false));
    assertEquals(Blame.NAMED, blame(other, true));
  }

  @Test
  void violation_anotherStands_isNamed() {
    standsFor(other, 3 * HALF_OF_PATIENCE);
    on(one, () -> underWay.accuse());
    underWay.processEnded();
    assertEquals(Blame.NAMED, blame(one, true));
    assertEquals(Blame.OTHERS, blame(other, true));
  }

  @Test
  void end_nobodyIsAccused_whatHadBegunMayBeWhy() {
    underWay.processEnded();
    assertEquals(Blame.UNKNOWN, blame(one, true));
    assertEquals(Blame.OTHERS, blame(other, false));
  }
}
