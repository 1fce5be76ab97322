package io.pipelane.switcher.sharing;

import java.util.function.LongSupplier;

/**
 * Follows each eviction of offline work from its order to the last launch's end and to the return
 * of its memory. Belongs to the thread that looks at the device, but for {@link #evictions}.
 */
final class EvictionWatch {
  /*
   * Nobody is told when a run in another process stands: it says so by a word of its own. So the
   * thread looks again and again until all stand, for a while at once (isClose), later when it
   * looks at the device. What it finds is late by one look, never early.
   */
  private static final long CLOSE_NANOS = 20_000_000;

  private final OfflineGate gate;
  private final LongSupplier nanoClock;
  private volatile LongSupplier takeBack = () -> 0;
  private volatile Evictions evictions = Evictions.NONE;
  private volatile Runnable endRuns = () -> {};
  private Awaited awaited = Awaited.NOTHING;
  private boolean isForMemory;
  private boolean wasUnderWay;
  private long orderedNanos;
  private long stoodNanos;
  private long takenBytes;

  /** What is looked for. */
  private enum Awaited {
    NOTHING,
    /** That all runs stand. */
    STOP,
    /** That those which were told to end have ended, and have given their memory back. */
    RETURN
  }

  EvictionWatch(OfflineGate gate, LongSupplier nanoClock) {
    this.gate = gate;
    this.nanoClock = nanoClock;
  }

  /** Has memory taken back that no run holds; the supplier answers how many bytes that were. */
  void onMemory(LongSupplier takingBack) {
    takeBack = takingBack;
  }

  /** Has runs end that stand, where it is memory that there is too little of. */
  void onShortage(Runnable endingRuns) {
    endRuns = endingRuns;
  }

  /**
   * The gate is about to be closed for an overload.
   *
   * @param forMemory whether there is too little memory, so runs that stand are to give theirs back
   */
  void ordered(boolean forMemory) {
    isForMemory = forMemory;
    wasUnderWay = gate.isOfflineUnderWay();
    orderedNanos = nanoClock.getAsLong();
    awaited = Awaited.STOP;
  }

  /** The gate is open again: who still computes need not stop any more. */
  void over() {
    awaited = Awaited.NOTHING;
  }

  /**
   * Looks whether all stand, and takes back what they do not hold once they do; where it is memory
   * that there is too little of, again and again until they have ended.
   */
  void look() {
    if (awaited == Awaited.STOP && !gate.isOfflineUnderWay()) {
      stood();
    }
    if (awaited == Awaited.RETURN) {
      takeBack();
    }
  }

  private void stood() {
    stoodNanos = nanoClock.getAsLong();
    if (wasUnderWay) {
      evictions = evictions.withStop(stoodNanos - orderedNanos);
    }
    if (isForMemory) {
      endRuns.run(); // Each gives its memory back on a thread of its own, soon.
    }
    takenBytes = 0;
    awaited = Awaited.RETURN;
  }

  private void takeBack() {
    boolean isLast = !isForMemory || !gate.hasOfflineRuns();
    takenBytes += takeBack.getAsLong();
    if (isLast) {
      awaited = Awaited.NOTHING;
      if (takenBytes > 0) {
        evictions = evictions.withMemory(nanoClock.getAsLong() - stoodNanos, takenBytes);
      }
    }
  }

  /** Whether an eviction was ordered so lately that the next look is worth making at once. */
  boolean isClose() {
    return awaited != Awaited.NOTHING && nanoClock.getAsLong() - orderedNanos < CLOSE_NANOS;
  }

  Evictions evictions() {
    return evictions;
  }
}
