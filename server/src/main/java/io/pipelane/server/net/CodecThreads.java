package io.pipelane.server.net;

import io.netty.util.concurrent.DefaultThreadFactory;
import io.pipelane.config.StatusException;
import java.lang.System.Logger.Level;
import java.time.Duration;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;

/**
 * The few threads that decode and encode what would hold an event loop for too long. Takes a
 * bounded number of tasks and rejects more. Safe for any thread.
 */
public final class CodecThreads implements Executor {
  /** Data up to this size is decoded and encoded on the event loop. */
  public static final int LARGEST_ON_LOOP = 256 << 10;

  private static final System.Logger LOG = System.getLogger(CodecThreads.class.getName());
  private static final int THREADS = 2;
  private static final int MAXIMUM_WAITING = 64;

  private final ThreadPoolExecutor threads;

  public CodecThreads(String name) {
    threads =
        new ThreadPoolExecutor(
            THREADS,
            THREADS,
            0,
            TimeUnit.SECONDS,
            new ArrayBlockingQueue<>(MAXIMUM_WAITING),
            new DefaultThreadFactory(name, true));
  }

  /**
   * Runs a task on one of the threads.
   *
   * @throws RejectedExecutionException when too many wait
   */
  @Override
  public void execute(Runnable task) {
    threads.execute(task);
  }

  /**
   * What a request is told whose task was rejected.
   *
   * @param with what could not be begun, like {@code decoding}
   */
  public static StatusException busy(String with) {
    return StatusException.unavailable("the server is busy " + with + "; try again");
  }

  /**
   * Takes no more, and waits for those that run: they use transfer memory, which is closed next.
   */
  public void stop(Duration timeout) {
    threads.shutdown();
    try {
      if (!threads.awaitTermination(timeout.toMillis(), TimeUnit.MILLISECONDS)) {
        LOG.log(Level.WARNING, "a request is still being decoded or encoded");
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }
}
