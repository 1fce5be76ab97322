package io.pipelane.bench.faults;

import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;

/** A fault that a model's own code may do to its worker, in the middle of a run. */
enum FaultWithinRun {
  /** {@code abort()}, the way in which native code ends a process that finds itself broken. */
  ABORT {
    @Override
    void have() {
      Linker linker = Linker.nativeLinker();
      try {
        linker
            .downcallHandle(
                linker.defaultLookup().find("abort").orElseThrow(), FunctionDescriptor.ofVoid())
            .invokeExact();
      } catch (Throwable e) {
        throw new IllegalStateException("abort() came back", e);
      }
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
