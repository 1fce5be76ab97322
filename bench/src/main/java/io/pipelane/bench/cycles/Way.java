package io.pipelane.bench.cycles;

import io.pipelane.bench.measure.Run;

/** A way to have one of two models run while the other does not. */
interface Way extends AutoCloseable {
  /** A model's turn begins; returns what runs it. */
  Run begin(Role role) throws Exception;

  /** Its turn is over. */
  void end();

  /** Bytes of weights that have been moved so far, where that is counted; else 0. */
  long movedBytes();

  @Override
  void close();

  /** The role of a model. */
  enum Role {
    BACKGROUND,
    INFERENCE
  }
}
