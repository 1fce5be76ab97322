package io.pipelane.switcher.memory;

import io.pipelane.config.StatusException;
import io.pipelane.lanes.execution.StopWord;
import io.pipelane.lanes.execution.WeightArrivals.Elsewhere;
import io.pipelane.lanes.execution.WeightArrivals.Here;
import java.util.function.Consumer;

/** The control over when a run may compute its segments. Told on the run's thread. */
public interface RunControl {
  /** They are computed as they come. */
  RunControl NONE =
      new RunControl() {
        @Override
        public void beforeSegment(int segment) {}

        @Override
        public Elsewhere computesElsewhere(StopWord word) {
          return () -> {};
        }

        @Override
        public void leave() {}

        @Override
        public void retake() {}
      };

  /**
   * The run comes to a segment, which waits for this to return.
   *
   * @throws StatusException to end the run, as nobody wants it any more
   */
  void beforeSegment(int segment);

  /**
   * The run computes in another process from now on.
   *
   * @param word stops or ends it there, until what is returned is closed
   * @throws StatusException to end the run before that
   */
  Elsewhere computesElsewhere(StopWord word);

  /**
   * The run computes on its own thread from now on.
   *
   * @param end has it fail soon, with a reason, until what is returned is closed
   */
  default Here computesHere(Consumer<StatusException> end) {
    return () -> {};
  }

  /**
   * One that goes before it waits for the memory that the run holds: it ends at its next gate, and
   * begins anew later. Told on any thread, under others' locks.
   *
   * @param atOnce also where it is as good as done
   */
  default void makeWay(boolean atOnce) {}

  /**
   * Whether a run makes way to this one, which is an online run and waits for what the other holds.
   * Offline runs do to every one. Asked on any thread, under the memory daemon's lock.
   *
   * @param holder the other's lease
   */
  default boolean goesBefore(Lease holder) {
    return holder.isOffline();
  }

  /**
   * Whether the run waits for a lane, for working memory or for a process, and ends no sooner than
   * it has that, though it is told to make way. Asked on any thread, under others' locks.
   */
  default boolean isBlocked() {
    return false;
  }

  /** The run is about to wait for what a paused one may have, which goes on meanwhile. */
  void leave();

  /** See {@link io.pipelane.lanes.execution.WeightArrivals#awaitsProcess}. */
  default void awaitsProcess() {}

  /** The run computes nothing more, though it is not over. */
  default void computesNoMore() {}

  /**
   * It has what it waited for; returns when it may compute.
   *
   * @throws StatusException to end the run
   */
  void retake();
}
