package io.pipelane.lanes.cuda;

import java.util.ArrayDeque;
import java.util.Deque;
import java.util.LinkedHashSet;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * The outstanding work of mapping and unmapping: ranges that somebody waits for, a few pages at a
 * time, and what nobody waits for. Belongs to the copy thread.
 */
final class MappingWork {
  /*
   * A variant's pages are put under its structure's addresses before the copies of those that it
   * lacks are asked for. If the copies waited for that, the link would have nothing to do
   * meanwhile, some 40 us for each page (on an H100). So what somebody waits for is done in steps:
   * the first before the first copy, as it lets the first segments run, the others while copies are
   * on their way.
   *
   * Unmapping is done when there is nothing else to do: a page may lie under two slots, so nothing
   * waits for it. Mappings that fail are left until a command touches them again.
   */
  private static final System.Logger LOG = System.getLogger(MappingWork.class.getName());

  private final Runnable requireOpen;
  private final Deque<Command.SettleRange> awaited = new ArrayDeque<>();
  private final Set<SlotMappings> unsettled = new LinkedHashSet<>();

  /**
   * Nothing is left.
   *
   * @param requireOpen throws once the device is closed, so that whoever waits hears of it
   */
  MappingWork(Runnable requireOpen) {
    this.requireOpen = requireOpen;
  }

  /** Somebody waits for a range from now on, behind those before. */
  void await(Command.SettleRange range) {
    awaited.add(range);
  }

  /** Notes whether anything is left of some mappings. */
  void note(SlotMappings mappings) {
    if (mappings.isSettled()) {
      unsettled.remove(mappings);
    } else {
      unsettled.add(mappings);
    }
  }

  /** Mappings go, and what is left of them with them. */
  void forget(SlotMappings mappings) {
    unsettled.remove(mappings);
  }

  /** Whether somebody waits. */
  boolean isAwaited() {
    return !awaited.isEmpty();
  }

  /** Whether nothing is left. */
  boolean isDone() {
    return awaited.isEmpty() && unsettled.isEmpty();
  }

  /** Does a little of what is left, that first which somebody waits for. */
  void step() {
    if (isAwaited()) {
      stepAwaited();
    } else if (!unsettled.isEmpty()) {
      settleSome(unsettled.iterator().next());
    }
  }

  /** Does a little of what is awaited longest, where something is. */
  void stepAwaited() {
    if (isAwaited()) {
      stepTowards(awaited.getFirst());
    }
  }

  /** Does all that somebody waits for. */
  void finishAwaited() {
    while (isAwaited()) {
      stepAwaited();
    }
  }

  /** Does everything; what went wrong, if something did. */
  @Nullable Throwable finish() {
    finishAwaited();
    try {
      unsettled.forEach(SlotMappings::settle);
      unsettled.clear();
      return null;
    } catch (RuntimeException e) {
      return e;
    }
  }

  private void stepTowards(Command.SettleRange range) {
    SlotMappings mappings = range.mappings();
    Throwable failure = null;
    boolean isOver;
    try {
      requireOpen.run();
      isOver = mappings.settleNext(range.slots());
    } catch (RuntimeException e) {
      failure = e;
      isOver = true;
    }
    note(mappings);
    if (isOver) {
      awaited.remove();
      range.event().complete(failure);
    }
  }

  private void settleSome(SlotMappings mappings) {
    try {
      mappings.settleSome();
      note(mappings);
    } catch (RuntimeException e) {
      unsettled.remove(mappings);
      LOG.log(System.Logger.Level.WARNING, "a page could not be mapped or unmapped", e);
    }
  }
}
