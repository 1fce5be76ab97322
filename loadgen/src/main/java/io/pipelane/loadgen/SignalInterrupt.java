package io.pipelane.loadgen;

import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.util.List;
import java.util.concurrent.CountDownLatch;

/**
 * The signals that end the program (Ctrl-C, SIGTERM) as an interrupt of the thread that made this:
 * until it is closed, the program waits for what the thread still has to say. A second signal ends
 * the program at once, with nothing said.
 */
final class SignalInterrupt implements AutoCloseable {
  private static final int SIGNALLED = 128;

  private final CountDownLatch closed = new CountDownLatch(1);
  private final Thread thread = Thread.currentThread();
  private final Thread hook = Thread.ofPlatform().unstarted(this::onExit);

  SignalInterrupt() {
    Runtime.getRuntime().addShutdownHook(hook);
  }

  @Override
  public void close() {
    closed.countDown();
    try {
      Runtime.getRuntime().removeShutdownHook(hook);
    } catch (IllegalStateException e) {
      // the program is ending, and the hook runs
    }
  }

  private void onExit() {
    haltAtTheNext();
    System.err.println(
        "loadgen: ending early; the report follows when what is under way is answered or timed out;"
            + " once more ends without it");
    thread.interrupt();
    try {
      closed.await();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  /** The signals' class is one that compilers warn of; hence its name as text. */
  private static void haltAtTheNext() {
    try {
      Class<?> signal = Class.forName("sun.misc.Signal");
      Class<?> handler = Class.forName("sun.misc.SignalHandler");
      Method number = signal.getMethod("getNumber");
      Object halt =
          Proxy.newProxyInstance(
              SignalInterrupt.class.getClassLoader(),
              new Class<?>[] {handler},
              (_, method, arguments) -> {
                if (method.getDeclaringClass() == handler) {
                  Runtime.getRuntime().halt(SIGNALLED + (int) number.invoke(arguments[0]));
                }
                return null; // Nobody compares it.
              });
      for (String name : List.of("INT", "TERM")) {
        Object _ =
            signal
                .getMethod("handle", signal, handler)
                .invoke(null, signal.getConstructor(String.class).newInstance(name), halt);
      }
    } catch (ReflectiveOperationException e) {
      System.err.println("loadgen: a second signal will do nothing: " + e);
    }
  }
}
