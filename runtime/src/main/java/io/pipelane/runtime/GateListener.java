package io.pipelane.runtime;

/**
 * A listener that is told when a run reaches a gate, on the thread that runs; the run goes on when
 * the method returns.
 */
@FunctionalInterface
public interface GateListener {
  /**
   * Waits until what lies behind the gate may compute.
   *
   * @param gate the gate's number, 1 for the first
   * @throws RuntimeException to end the run with an error
   */
  void reached(int gate);
}
