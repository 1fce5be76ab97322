package io.pipelane.lanes.process.worker;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.invoke.MethodHandle;

/** The system's treatment of this process when its server dies. */
final class ServerDeath {
  /*
   * A process that is stopped (SIGSTOP, a debugger's end) does not see its standard input end, and
   * would keep its part of the device for ever. To Linux the parent of a process is the thread that
   * has started it. The supervisor's thread ends after all its workers, or with the server.
   */
  private static final int PR_SET_PDEATHSIG = 1;
  private static final long SIGCONT = 18; // On x86-64 and AArch64.

  private static final MethodHandle PRCTL =
      Linker.nativeLinker()
          .downcallHandle(
              Linker.nativeLinker().defaultLookup().findOrThrow("prctl"),
              FunctionDescriptor.of(JAVA_INT, JAVA_INT, JAVA_LONG),
              Linker.Option.firstVariadicArg(1));

  private ServerDeath() {}

  /** Has this process go on where it was stopped, so that it can end in order. */
  static void continueAtIt() {
    try {
      if ((int) PRCTL.invokeExact(PR_SET_PDEATHSIG, SIGCONT) != 0) {
        System.err.println("a worker that is stopped will not notice its server's death");
      }
    } catch (Throwable e) {
      throw new IllegalStateException("prctl cannot be called", e);
    }
  }
}
