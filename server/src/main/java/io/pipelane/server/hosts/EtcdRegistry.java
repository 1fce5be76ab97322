package io.pipelane.server.hosts;

import java.io.IOException;
import java.lang.System.Logger.Level;
import java.time.Duration;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** Hosts in etcd: a key each below a prefix, bound to a lease that its host keeps alive. */
final class EtcdRegistry implements HostRegistry {
  /*
   * One thread does everything. It opens a session (a connection, a lease, all keys, and a watch from
   * there on), then in turns passes on what the watch hears, renews the lease, and says what has
   * changed. Whatever fails ends the session, and another one is opened after a pause: the pauses of
   * gRPC between attempts to connect grow to minutes, and a watch that broke may have missed
   * something. What was heard stays until then.
   */
  private static final System.Logger LOG = System.getLogger(EtcdRegistry.class.getName());

  private static final Duration PAUSE = Duration.ofMillis(500);
  private static final Duration CLOSING_TIME = Duration.ofSeconds(5);

  private final EtcdSettings settings;
  private volatile boolean closing;
  private @Nullable Thread thread;

  EtcdRegistry(EtcdSettings settings) {
    this.settings = settings;
  }

  @Override
  public void start(Supplier<String> word, Listener listener) {
    Thread started =
        Thread.ofPlatform().name("hosts").daemon().unstarted(() -> run(word, listener));
    thread = started;
    started.start();
  }

  private void run(Supplier<String> word, Listener listener) {
    boolean warned = false;
    while (!closing) {
      try (EtcdSession session = EtcdSession.open(settings)) {
        try {
          String said = word.get();
          session.say(said);
          listener.all(session.listen());
          listener.reached(true);
          LOG.log(
              Level.INFO, "other hosts are heard of, and hear of this one as {0}", settings.own());
          warned = false;
          serve(session, said, word, listener);
        } finally {
          if (closing) {
            boolean _ = Thread.interrupted(); // What close() has left has done its work.
            session.leave();
          }
        }
      } catch (InterruptedException e) {
        continue; // It is closing.
      } catch (Throwable e) { // Another session may do better, and nobody else would open it.
        listener.reached(false);
        if (!warned && !closing) {
          warned = true;
          LOG.log(
              Level.WARNING,
              "hosts.etcd is out of reach, and what other hosts said last holds until it is back: {0}",
              e instanceof IOException ? e.getMessage() : e.toString());
        }
      }
      pause();
    }
  }

  /** Until something fails, or the end. */
  private void serve(EtcdSession session, String first, Supplier<String> word, Listener listener)
      throws IOException, InterruptedException {
    String said = first;
    long renewedNanos = System.nanoTime();
    while (!closing) {
      session.hear(settings.turn(), listener);
      listener.turn();
      if (System.nanoTime() - renewedNanos > settings.renewEvery().toNanos()) {
        renewedNanos = System.nanoTime();
        session.renew();
      }
      String next = word.get();
      if (!next.equals(said) || session.isDeleted()) {
        session.say(next);
        said = next;
      }
    }
  }

  private void pause() {
    try {
      if (!closing) {
        Thread.sleep(PAUSE);
      }
    } catch (InterruptedException e) {
      // It is closing.
    }
  }

  @Override
  public void close() {
    closing = true;
    Thread running = thread;
    if (running == null) {
      return;
    }
    running.interrupt();
    try {
      running.join(CLOSING_TIME);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }
}
