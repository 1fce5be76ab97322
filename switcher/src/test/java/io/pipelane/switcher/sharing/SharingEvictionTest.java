package io.pipelane.switcher.sharing;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.switcher.sharing.gate.OfflineRun;
import io.pipelane.switcher.sharing.monitor.SharingState;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;

/** What becomes of offline runs and their memory when the device is overloaded. */
class SharingEvictionTest extends SharingFixture {
  /** What offline runs are told to give back, and how often they were told to end. */
  private static class Held implements OfflineMemory {
    private final AtomicLong bytes;
    private final AtomicInteger ended;

    Held(AtomicLong bytes, AtomicInteger ended) {
      this.bytes = bytes;
      this.ended = ended;
    }

    @Override
    public long takeBackOffline() {
      return bytes.getAndSet(0);
    }

    @Override
    public void endOfflineRuns() {
      ended.incrementAndGet();
    }
  }

  /** From the order to the last run's stand, and from there to the memory's return. */
  @Test
  void look_overload_timesHowLongOfflineWorkTakesToStopAndItsMemoryToComeBack() {
    AtomicBoolean stands = new AtomicBoolean();
    OfflineRun run = stands::get;
    sharing.gate().begin(run);
    sharing.onEviction(
        new Held(new AtomicLong(4_096), new AtomicInteger()) {
          @Override
          public long takeBackOffline() {
            now.addAndGet(2_000_000);
            return super.takeBackOffline();
          }
        });
    look();
    assertFalse(sharing.watchEviction(), "nothing was ordered");
    sample = sample(0.2, 1, 0.96);
    assertEquals(SharingState.OVERLIMIT, look());
    now.addAndGet(300_000);
    assertTrue(sharing.watchEviction(), "it computes on to its gate");
    assertEquals(0, sharing.overview().evictions().stops());
    sharing.gate().end(run);
    now.addAndGet(100_000);
    assertFalse(sharing.watchEviction());
    assertEquals(
        new EvictionCounts(1, 400_000, 400_000, 1, 2_000_000, 2_000_000, 4_096),
        sharing.overview().evictions());
    look();
    assertEquals(1, sharing.overview().evictions().stops(), "it is told once");
    assertTrue(sharing.overview().seen().reason().contains("memory is 96.0 %"));
  }

  /** Those that stand keep what there is too little of, until they end. */
  @Test
  void look_tooLittleMemory_hasOfflineRunsEndOnceTheyStandAndTimesTheirMemorysReturn() {
    AtomicBoolean stands = new AtomicBoolean();
    AtomicInteger ended = new AtomicInteger();
    AtomicLong held = new AtomicLong();
    OfflineRun run = stands::get;
    sharing.gate().begin(run);
    sharing.onEviction(new Held(held, ended));
    look();
    sample = sample(0.2, 1, 0.96);
    look();
    assertEquals(0, ended.get(), "it computes on to its gate");
    stands.set(true);
    assertTrue(sharing.watchEviction(), "it is told to end, and has not");
    assertEquals(1, ended.get());
    assertEquals(0, sharing.overview().evictions().memoryBytes());
    now.addAndGet(3_000_000);
    sharing.gate().end(run);
    held.set(4_096);
    assertFalse(sharing.watchEviction());
    assertEquals(
        new EvictionCounts(1, 0, 0, 1, 3_000_000, 3_000_000, 4_096),
        sharing.overview().evictions());
    look();
    assertEquals(1, ended.get(), "who has ended is told nothing");
  }

  /** Else they would keep, for as long as they stand, what keeps them standing. */
  @Test
  void look_tooLittleMemoryWhileOverloadedForAnotherReason_hasOfflineRunsEnd() {
    AtomicInteger ended = new AtomicInteger();
    AtomicLong held = new AtomicLong();
    OfflineRun run = () -> true;
    sharing.gate().begin(run);
    sharing.onEviction(new Held(held, ended));
    look();
    sample = sample(0.9, 0.3, 0.5);
    assertEquals(SharingState.OVERLIMIT, look());
    assertEquals(0, ended.get());
    sample = sample(0.9, 0.3, 0.96);
    assertEquals(SharingState.OVERLIMIT, look());
    assertEquals(1, ended.get());
    OfflineRun late = () -> true; // Which waited for memory meanwhile.
    sharing.gate().begin(late);
    sharing.gate().end(run);
    held.set(4_096);
    look();
    assertEquals(2, ended.get(), "it is told as well");
    sharing.gate().end(late);
    held.set(8_192);
    look();
    assertEquals(12_288, sharing.overview().evictions().memoryBytes());
  }

  /** The state that follows is told to nobody again. */
  @Test
  void look_memoryCannotBeTakenBackAsTheOverloadEnds_gateOpensAllTheSame() {
    AtomicBoolean fails = new AtomicBoolean();
    sharing.gate().begin(() -> true);
    sharing.onEviction(
        new Held(new AtomicLong(), new AtomicInteger()) {
          @Override
          public long takeBackOffline() {
            if (fails.get()) {
              throw new IllegalStateException("it fails");
            }
            return super.takeBackOffline();
          }
        });
    look();
    sample = sample(0.2, 1, 0.96);
    assertEquals(SharingState.OVERLIMIT, look());
    fails.set(true);
    sample = sample(0.2, 1, 0.5);
    now.addAndGet(3_600 * SECOND);
    assertEquals(0, sharing.gate().allowed());
    assertThrows(IllegalStateException.class, this::look);
    assertEquals(1, sharing.gate().allowed());
  }

  @Test
  void look_overloadEndsBeforeAllHaveEnded_whatHasComeBackIsTold() {
    AtomicLong held = new AtomicLong(4_096);
    sharing.gate().begin(() -> true);
    sharing.onEviction(new Held(held, new AtomicInteger()));
    look();
    sample = sample(0.2, 1, 0.96);
    look();
    sample = sample(0.2, 1, 0.5);
    now.addAndGet(SECOND);
    assertEquals(SharingState.UNHEALTHY, look());
    assertEquals(4_096, sharing.overview().evictions().memoryBytes());
  }

  @Test
  void look_overloadOfAnotherKind_leavesOfflineRunsWhereTheyStand() {
    AtomicInteger ended = new AtomicInteger();
    sharing.gate().begin(() -> true);
    sharing.onEviction(new Held(new AtomicLong(), ended));
    look();
    sample = sample(0.9, 0.3, 0.5);
    assertEquals(SharingState.OVERLIMIT, look());
    assertEquals(0, ended.get());
  }

  /** Looking at once is for what stops at once; the rest is seen when the device is looked at. */
  @Test
  void look_runThatComesToNoGate_isNotWatchedForLong() {
    AtomicBoolean stands = new AtomicBoolean();
    sharing.gate().begin(stands::get);
    look();
    sample = sample(0.2, 1, 0.96);
    look();
    assertTrue(sharing.watchEviction());
    now.addAndGet(SECOND / 10);
    assertFalse(sharing.watchEviction());
    stands.set(true);
    look();
    assertEquals(1, sharing.overview().evictions().stops());
    assertEquals(SECOND / 5, sharing.overview().evictions().stopNanos());
  }

  /** As when it swaps: much of its memory is available, and so is the device's. */
  @Test
  void look_hostWaitsForMemoryAlone_evictsOfflineRunsAndTakesBackWhatTheyHeld() {
    AtomicInteger ended = new AtomicInteger();
    AtomicLong held = new AtomicLong();
    OfflineRun run = () -> true;
    sharing.gate().begin(run);
    sharing.onEviction(new Held(held, ended));
    sample = host(0.02, 0.2);
    assertEquals(SharingState.HEALTHY, look());
    sample = host(0.4, 0.2);
    assertEquals(SharingState.OVERLIMIT, look());
    assertTrue(
        sharing.overview().seen().reason().startsWith("memory-pressure is 40.0 %"),
        sharing.overview().seen()::reason);
    assertEquals(1, ended.get());
    sharing.gate().end(run);
    held.set(4_096);
    look();
    assertEquals(4_096, sharing.overview().evictions().memoryBytes());
  }
}
