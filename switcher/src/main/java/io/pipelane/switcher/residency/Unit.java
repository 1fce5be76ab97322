package io.pipelane.switcher.residency;

import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Models on one or several devices that are used together, and so are brought in, or give way, as
 * one (PipeSwitch §4.5). Safe for any thread.
 */
public final class Unit {
  /*
   * A unit is whole from when all of its parts are held until the first page of one is taken. Parts
   * that are held give no page, so who holds them all may call it whole. Each device's lock guards
   * its own part; nobody has two of these locks, so the other parts follow a moment later.
   */
  private final Map<Holdings, Set<Holding>> parts = new ConcurrentHashMap<>();
  private final Runnable whenBroken;
  private volatile boolean whole;
  private volatile boolean ended;

  /**
   * Without parts.
   *
   * @param whenBroken told that a part has given way, with a memory daemon's lock held: returns at
   *     once
   */
  public Unit(Runnable whenBroken) {
    this.whenBroken = whenBroken;
  }

  void joins(Holdings device, Holding part) {
    parts.computeIfAbsent(device, _ -> ConcurrentHashMap.newKeySet()).add(part);
  }

  void leaves(Holdings device, Holding part) {
    parts.getOrDefault(device, Set.of()).remove(part);
  }

  /**
   * What a run waits when nothing of the unit is there: parts of one device come one after another,
   * those of several at the same time.
   */
  double stallNanos() {
    return parts.values().stream()
        .mapToDouble(here -> here.stream().mapToDouble(Holding::wholeNanos).sum())
        .max()
        .orElse(0);
  }

  /** All parts are held. */
  public void completed() {
    whole = true;
  }

  /** Whether nothing has been taken of any part since they were all held. */
  public boolean isWhole() {
    return whole;
  }

  /** Some part is not held; whoever says so sees to the others. */
  public void incomplete() {
    whole = false;
  }

  /** Pages of a part have been taken. */
  public void broken() {
    whole = false;
    whenBroken.run();
  }

  /** Its models have nothing to do with each other any more. */
  public void end() {
    ended = true;
  }

  boolean hasEnded() {
    return ended;
  }
}
