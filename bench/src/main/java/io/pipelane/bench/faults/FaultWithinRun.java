package io.pipelane.bench.faults;

import io.pipelane.runtime.NativeFunction;

/** A fault that a model's own code may do to its worker, in the middle of a run. */
enum FaultWithinRun {
  /** {@code abort()}, the way in which native code ends a process that finds itself broken. */
  ABORT {
    @Override
    void have() {
      long result = NativeFunction.of("abort").call(0, 0, 0);
      throw new IllegalStateException("abort() came back with " + result);
    }
  },
  /** A kernel that writes where nothing is. */
  ILLEGAL_WRITE {
    @Override
    void have() {
      FaultyKernel.ILLEGAL.launch();
    }
  },
  /** A kernel that takes the whole GPU and never ends. */
  ENDLESS_KERNEL {
    @Override
    void have() {
      FaultyKernel.ENDLESS.launch();
    }
  };

  /** Does it, on the thread that computes, in its context on a GPU. */
  abstract void have();
}
