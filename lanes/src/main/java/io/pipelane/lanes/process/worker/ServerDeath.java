package io.pipelane.lanes.process.worker;

import io.pipelane.runtime.NativeFunction;

/** The system's treatment of this process when its server dies. */
final class ServerDeath {
  /*
   * A process that is stopped (SIGSTOP, a debugger's end) does not see its standard input end, and
   * would keep its part of the device for ever. To Linux the parent of a process is the thread that
   * has started it. The supervisor's thread ends after all its workers, or with the server.
   */
  private static final int PR_SET_PDEATHSIG = 1;
  private static final long SIGCONT = 18; // On x86-64 and AArch64.

  private ServerDeath() {}

  /** Has this process go on where it was stopped, so that it can end in order. */
  static void continueAtIt() {
    if ((int) NativeFunction.of("prctl").call(PR_SET_PDEATHSIG, SIGCONT, 0) != 0) {
      System.err.println("a worker that is stopped will not notice its server's death");
    }
  }
}
