package io.pipelane.switcher.memory;

import io.pipelane.lanes.execution.StopWord;
import io.pipelane.lanes.execution.WeightArrivals.Elsewhere;
import java.util.function.Predicate;

/** A run that hears whether it is to make way, and goes before those that a test says. */
final class ToldRun implements RunControl {
  private final Predicate<Lease> before;
  private final Runnable whenLeaving;
  private volatile boolean told;
  private volatile boolean atOnce;
  private volatile boolean blocked;

  /** Goes before offline runs alone. */
  ToldRun() {
    this(Lease::isOffline, () -> {});
  }

  private ToldRun(Predicate<Lease> before, Runnable whenLeaving) {
    this.before = before;
    this.whenLeaving = whenLeaving;
  }

  /** Goes before offline runs and some others. */
  static ToldRun before(Predicate<Lease> some) {
    return new ToldRun(lease -> lease.isOffline() || some.test(lease), () -> {});
  }

  /** Goes before offline runs, and does something each time that it is about to wait. */
  static ToldRun leaving(Runnable whenLeaving) {
    return new ToldRun(Lease::isOffline, whenLeaving);
  }

  /** Waits for a lane, or has it. */
  void blocks(boolean waits) {
    blocked = waits;
  }

  boolean isTold() {
    return told;
  }

  boolean isToldAtOnce() {
    return atOnce;
  }

  @Override
  public void makeWay(boolean now) {
    atOnce = now;
    told = true;
  }

  @Override
  public boolean goesBefore(Lease holder) {
    return before.test(holder);
  }

  @Override
  public boolean isBlocked() {
    return blocked;
  }

  @Override
  public void beforeSegment(int segment) {}

  @Override
  public Elsewhere computesElsewhere(StopWord word) {
    return () -> {};
  }

  @Override
  public void leave() {
    whenLeaving.run();
  }

  @Override
  public void retake() {}
}
