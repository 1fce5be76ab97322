package io.pipelane.switcher.memory;

import io.pipelane.config.StatusException;
import io.pipelane.lanes.DeviceEvent;
import io.pipelane.lanes.completion.Completion;
import java.util.ArrayDeque;
import java.util.Deque;
import org.jspecify.annotations.Nullable;

/**
 * The mapping of a fake device's ranges: done at once, or step by step when the test says so, and
 * perhaps in vain. Safe for any thread.
 */
final class FakeMapping {
  private final Deque<Step> steps = new ArrayDeque<>();
  private boolean late;
  private @Nullable StatusException failure;

  private record Step(Progress range, int slots, FakeEvent event) {}

  /** From now on, mapping is done when {@link #complete} says so. */
  synchronized void beLate() {
    late = true;
  }

  /** Fails the next mapping that is waited for, before anybody looks. */
  synchronized void failNext(StatusException reason) {
    failure = reason;
  }

  /** Ranges that somebody waits for to be mapped. */
  synchronized int pending() {
    return (int) steps.stream().map(Step::range).distinct().count();
  }

  /** Does, or fails to do, all that is to be mapped in the range that has waited longest. */
  void complete(@Nullable StatusException reason) {
    int left;
    synchronized (this) {
      left = steps.getFirst().range.steps;
    }
    for (int i = 0; i < left; i++) { // The last one may let another variant have the range.
      completeStep(reason);
    }
  }

  /** Does, or fails to do, the oldest step of all that is to be mapped. */
  void completeStep(@Nullable StatusException reason) {
    Step oldest;
    synchronized (this) {
      oldest = steps.removeFirst();
      boolean last = --oldest.range.steps == 0;
      oldest.range.settledSlots = last ? Integer.MAX_VALUE : oldest.slots;
    }
    oldest.event.complete(reason);
  }

  /** How far one range has come. */
  final class Progress {
    private int steps; // To come; guarded by the mapping.
    private volatile int settledSlots = Integer.MAX_VALUE;

    boolean isSettled(long slot) {
      return slot < settledSlots;
    }

    /** When the first slots will be mapped. */
    DeviceEvent settled(int first) {
      synchronized (FakeMapping.this) {
        FakeEvent event = new FakeEvent();
        if (failure != null) {
          event.complete(failure);
          failure = null;
          return event;
        }
        if (!late) {
          return Completion.DONE;
        }
        if (steps++ == 0) {
          settledSlots = 0;
        }
        FakeMapping.this.steps.addLast(new Step(this, first, event));
        return event;
      }
    }
  }
}
