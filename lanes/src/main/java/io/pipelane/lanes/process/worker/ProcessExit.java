package io.pipelane.lanes.process.worker;

import io.pipelane.runtime.NativeFunction;

/**
 * The end of this process at once: nobody who waits for it is to wait for longer. Safe for any
 * thread.
 */
final class ProcessExit {
  /*
   * Before it ends, the virtual machine waits 300 ms for threads that are inside C (in
   * Runtime.halt, too). A worker's threads always are: they sleep there until the server says
   * something. The system's own call does not wait. It does not run C's exit handlers either, which
   * have nothing to do here.
   */
  private static final NativeFunction EXIT = NativeFunction.of("_exit");

  private ProcessExit() {}

  /** Finds what the end needs, which a process that has no more memory could not. */
  static void prepare() {
    // Initializing the class does.
  }

  /** Ends the process; does not return. */
  static void now(int code) {
    try {
      long _ = EXIT.call(code, 0, 0);
    } catch (Throwable e) { // There is no memory to make the call with.
      Runtime.getRuntime().halt(code);
    }
  }
}
