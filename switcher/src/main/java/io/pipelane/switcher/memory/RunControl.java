package io.pipelane.switcher.memory;

import io.pipelane.lanes.execution.StopWord;
import io.pipelane.lanes.execution.WeightArrivals.Elsewhere;

/** Says when a run may compute its segments. Told on the run's thread. */
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

  /** The run comes to a segment, which waits for this to return. */
  void beforeSegment(int segment);

  /**
   * The run computes in another process from now on.
   *
   * @param word stops it there, until what is returned is closed
   */
  Elsewhere computesElsewhere(StopWord word);

  /** The run is about to wait for what a paused one may have, which goes on meanwhile. */
  void leave();

  /** It has what it waited for; returns when it may compute. */
  void retake();
}
