package io.pipelane.switcher;

import io.pipelane.lanes.execution.InputTensor;
import java.io.IOException;
import java.util.List;

/** The state that a model keeps for a sequence from one step to the next. Safe for any thread. */
public interface SequenceState {
  /** Whether all of it is there: of several models' states some may have ended before others. */
  default boolean isWhole() {
    return true;
  }

  /**
   * Lets the state be read between two steps; blocks until those that have come have ended. Steps
   * that come meanwhile wait.
   *
   * @return false when the sequence has ended; nothing is read then
   */
  boolean read(Reader reader) throws IOException;

  /** Ends the sequence once its step under way has ended; it takes no more. */
  void end();

  /** A reader of a state. */
  @FunctionalInterface
  interface Reader {
    /**
     * Reads it.
     *
     * @param state what the next step would be given; valid during the call
     */
    void read(List<InputTensor> state) throws IOException;
  }
}
