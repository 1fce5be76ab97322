package io.pipelane.lanes.process.worker;

/**
 * An observer of a worker process's progress, told on the thread that has made it; for tests of
 * what may fail. A program that makes faults has one as a service on its class path; the product
 * has none.
 */
@FunctionalInterface
public interface WorkerSteps {
  /** Tells nobody. */
  WorkerSteps UNOBSERVED = (step, structure) -> {};

  /** A step that is about to be done. */
  enum Step {
    /** The memory shared with the server is opened. */
    OPENING,
    /** The server is told that the worker is ready. */
    HELLO,
    /** A session is built. */
    BUILDING,
    /** The server is told that it is. */
    BUILT,
    /** A session is warmed up. */
    WARMING,
    /** The server wants to know whether the device lives. */
    CHECKING,
    /** A run begins. */
    RUNNING,
    /** Pages are mapped, within a run. */
    MAPPING,
    /** A segment computes: called from inside ONNX Runtime, but for the first one. */
    COMPUTING,
    /** The server is told of a run's outputs. */
    RAN,
    /** A session is closed. */
    CLOSING,
    /** Nothing runs any more, and the process gives its device back to end. */
    RELEASING
  }

  /**
   * A step is reached.
   *
   * @param structure the hash of the structure that it concerns, or empty
   */
  void reached(Step step, String structure);
}
