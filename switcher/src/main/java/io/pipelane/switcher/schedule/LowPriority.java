package io.pipelane.switcher.schedule;

import static java.lang.foreign.ValueLayout.JAVA_INT;

import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.SymbolLookup;
import java.lang.invoke.MethodHandle;

/** Lowers a thread's priority below that of all others, which Java's own priorities do not do. */
final class LowPriority {
  private static final System.Logger LOG = System.getLogger(LowPriority.class.getName());
  private static final int PRIO_PROCESS = 0;
  private static final int CALLING_THREAD = 0;
  private static final int NICEST = 19;

  private LowPriority() {}

  /** On Linux a niceness belongs to the thread; elsewhere nothing happens. */
  static void ofThisThread() {
    if (!System.getProperty("os.name").equals("Linux")) {
      return;
    }
    Linker linker = Linker.nativeLinker();
    SymbolLookup libc = linker.defaultLookup();
    MethodHandle setPriority =
        linker.downcallHandle(
            libc.findOrThrow("setpriority"),
            FunctionDescriptor.of(JAVA_INT, JAVA_INT, JAVA_INT, JAVA_INT));
    try {
      int result = (int) setPriority.invokeExact(PRIO_PROCESS, CALLING_THREAD, NICEST);
      if (result != 0) {
        LOG.log(System.Logger.Level.WARNING, "packing runs at normal priority: setpriority failed");
      }
    } catch (Throwable e) {
      throw new LinkageError("setpriority", e);
    }
  }
}
