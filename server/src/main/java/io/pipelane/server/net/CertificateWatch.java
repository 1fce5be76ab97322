package io.pipelane.server.net;

import io.netty.util.concurrent.DefaultThreadFactory;
import java.time.Duration;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.TimeUnit;

/** The thread that looks every ten seconds whether files of certificates have changed. */
final class CertificateWatch implements AutoCloseable {
  private static final Duration LOOK_EVERY = Duration.ofSeconds(10);

  private final ScheduledExecutorService thread;

  /** Looks for the first time in ten seconds. */
  CertificateWatch(String threadName, Runnable look) {
    thread = Executors.newSingleThreadScheduledExecutor(new DefaultThreadFactory(threadName, true));
    repeat(look, LOOK_EVERY);
  }

  /** Does something else between, now and then. */
  void repeat(Runnable task, Duration pause) {
    ScheduledFuture<?> _ =
        thread.scheduleWithFixedDelay(
            task, pause.toMillis(), pause.toMillis(), TimeUnit.MILLISECONDS);
  }

  /** Looks no more. */
  @Override
  public void close() {
    thread.shutdownNow();
  }
}
