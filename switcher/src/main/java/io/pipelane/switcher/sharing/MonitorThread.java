package io.pipelane.switcher.sharing;

import io.pipelane.lanes.completion.ThreadEnd;
import java.lang.System.Logger.Level;
import java.util.concurrent.locks.LockSupport;

/** The thread that looks at a device again and again. */
public final class MonitorThread implements AutoCloseable {
  private static final System.Logger LOG = System.getLogger(MonitorThread.class.getName());

  /** Between two looks whether offline work stands that was told to stop. */
  private static final long WATCH_NANOS = 20_000;

  private final Sharing sharing;
  private final long periodNanos;
  private final Thread thread;
  private volatile boolean closed;

  /** Starts. */
  public MonitorThread(Sharing sharing) {
    this.sharing = sharing;
    this.periodNanos = sharing.period().toNanos();
    this.thread = Thread.ofPlatform().name("device-monitor").daemon().unstarted(this::work);
    thread.start();
  }

  private void work() {
    while (!closed) {
      try {
        sharing.look();
        while (!closed && sharing.watchEviction()) {
          LockSupport.parkNanos(this, WATCH_NANOS);
        }
      } catch (RuntimeException
          | Error e) { // It is looked at again; offline work may stand until then.
        LOG.log(Level.WARNING, "looking at the device failed", e);
      }
      LockSupport.parkNanos(this, periodNanos);
    }
    sharing.close();
  }

  /** Looks no more. */
  @Override
  public void close() {
    closed = true;
    LockSupport.unpark(thread);
    ThreadEnd.await(thread);
  }
}
