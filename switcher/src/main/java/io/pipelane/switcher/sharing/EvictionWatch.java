package io.pipelane.switcher.sharing;

import io.pipelane.switcher.sharing.gate.OfflineRuns;
import java.util.function.LongSupplier;

/**
 * The watch over evictions of offline work: follows each from its order to the last launch's end
 * and to the return of its memory. Belongs to the thread that looks at the device, but for {@link
 * #evictions}.
 */
final class EvictionWatch {
  /*
   * Nobody is told when a run in another process stands: it says so by a word of its own. So the
   * thread looks again and again until all stand, for a while at once (watch), later when it looks
   * at the device (look). What it finds is late by one look, never early.
   *
   * Where there is too little memory runs that stand are told to end, at each look at the device,
   * as one may have been let in since. Memory is asked for then and when the last has ended, not
   * each time somebody watches: who has it is asked under a lock that runs wait for.
   */
  private static final long CLOSE_NANOS = 20_000_000;

  private final OfflineRuns runs;
  private final LongSupplier nanoClock;
  private volatile OfflineMemory memory = OfflineMemory.NONE;
  private volatile EvictionCounts evictions = EvictionCounts.NONE;
  private Awaited awaited = Awaited.NOTHING;
  private boolean isForMemory;
  private boolean wasUnderWay;
  private long orderedNanos;
  private long stoodNanos;
  private long takenBytes;

  /** The event that the watch waits for. */
  private enum Awaited {
    NOTHING,
    /** That all runs stand. */
    STOP,
    /** That those which were told to end have ended, and have given their memory back. */
    RETURN
  }

  EvictionWatch(OfflineRuns runs, LongSupplier nanoClock) {
    this.runs = runs;
    this.nanoClock = nanoClock;
  }

  /** Whose memory comes back. */
  void from(OfflineMemory held) {
    memory = held;
  }

  /** The gate is about to be closed for an overload. */
  void ordered() {
    isForMemory = false;
    wasUnderWay = runs.isUnderWay();
    orderedNanos = nanoClock.getAsLong();
    awaited = Awaited.STOP;
  }

  /**
   * There is too little memory, from the overload's beginning or only now: runs that stand are to
   * give theirs back.
   */
  void lacksMemory() {
    isForMemory = true;
    if (awaited == Awaited.NOTHING && !runs.isEmpty()) { // All stand already.
      awaitReturn();
    }
  }

  /** Runs are not held for the overload: who is ended would begin anew at once, again and again. */
  void holdsNobody() {
    isForMemory = false;
  }

  /** The overload is over, or the device is lost: nobody need stop or end for it any more. */
  void over() {
    if (awaited == Awaited.RETURN) {
      takenBytes += memory.takeBackOffline();
      returned();
    }
    awaited = Awaited.NOTHING;
  }

  /** Looks whether all stand, and once they do, or have ended, takes back what they held. */
  void watch() {
    if (awaited == Awaited.STOP && !runs.isUnderWay()) {
      stood();
      takeBack();
    } else if (awaited == Awaited.RETURN && runs.isEmpty()) {
      takeBack();
    }
  }

  /** The same, and has those end that still stand, where there is too little memory. */
  void look() {
    if (awaited == Awaited.RETURN) {
      takeBack();
    } else {
      watch();
    }
  }

  private void stood() {
    awaitReturn();
    if (wasUnderWay) {
      evictions = evictions.withStop(stoodNanos - orderedNanos);
    }
  }

  private void awaitReturn() {
    awaited = Awaited.RETURN;
    stoodNanos = nanoClock.getAsLong();
    takenBytes = 0;
  }

  private void takeBack() {
    boolean isLast = !isForMemory || runs.isEmpty();
    if (!isLast) {
      memory.endOfflineRuns(); // Each gives its memory back on a thread of its own, soon.
    }
    takenBytes += memory.takeBackOffline();
    if (isLast) {
      returned();
    }
  }

  private void returned() {
    awaited = Awaited.NOTHING;
    if (takenBytes > 0) {
      evictions = evictions.withMemory(nanoClock.getAsLong() - stoodNanos, takenBytes);
    }
  }

  /** Whether an eviction was ordered so lately that the next look is worth making at once. */
  boolean isClose() {
    return awaited != Awaited.NOTHING && nanoClock.getAsLong() - orderedNanos < CLOSE_NANOS;
  }

  EvictionCounts evictions() {
    return evictions;
  }
}
