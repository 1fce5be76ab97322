package io.pipelane.lanes.process.worker;

import io.pipelane.runtime.NativeFunction;
import java.lang.reflect.Proxy;
import java.util.Map;
import java.util.function.Consumer;

/** The signals that ask a process to end, told to somebody else instead of doing that. */
final class EndSignals {
  /*
   * A worker begins with these signals ignored, so that none that comes before this ends it. But
   * the virtual machine takes no signal that is ignored. So each first gets a handler of C's that
   * does nothing (getpid may be called in one). Then the machine takes it, and tells of it on a
   * thread of its own. That is the business of a class of the JDK that compilers warn of; hence its
   * name as text.
   */
  private static final Map<String, Integer> NUMBERS = Map.of("TERM", 15, "INT", 2);

  private EndSignals() {}

  /**
   * Has somebody told of each, on a thread that has nothing else to do; where signals cannot be had
   * nobody is, and they do nothing.
   *
   * @param listener told its name, such as SIGTERM
   */
  static void tell(Consumer<String> listener) {
    NativeFunction signalAction = NativeFunction.of("signal");
    long harmless = NativeFunction.of("getpid").address().address();
    try {
      for (Map.Entry<String, Integer> signal : NUMBERS.entrySet()) {
        long _ = signalAction.call(signal.getValue(), harmless, 0);
        handle(signal.getKey(), () -> listener.accept("SIG" + signal.getKey()));
      }
    } catch (ReflectiveOperationException | RuntimeException e) {
      System.err.println("signals will not end this worker: " + e);
    }
  }

  private static void handle(String name, Runnable action) throws ReflectiveOperationException {
    Class<?> signal = Class.forName("sun.misc.Signal");
    Class<?> handler = Class.forName("sun.misc.SignalHandler");
    Object listener =
        Proxy.newProxyInstance(
            EndSignals.class.getClassLoader(),
            new Class<?>[] {handler},
            (_, method, _) -> {
              if (method.getDeclaringClass() == handler) {
                action.run();
              }
              return null; // Nobody compares it.
            });
    Object _ =
        signal
            .getMethod("handle", signal, handler)
            .invoke(null, signal.getConstructor(String.class).newInstance(name), listener);
  }
}
