package io.pipelane.modelstore.cache;

import java.io.IOException;
import java.lang.System.Logger.Level;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/**
 * A process's turn at a file that several may write. Where the file system has no locks, or another
 * process keeps its turn for a second, one goes on without: what both write meanwhile is the later
 * one's.
 */
final class Turn implements AutoCloseable {
  private static final System.Logger LOG = System.getLogger(Turn.class.getName());
  private static final int TRIES = 100;
  private static final long PAUSE_NANOS = 10_000_000;

  private final @Nullable FileChannel locked;

  private Turn(@Nullable FileChannel locked) {
    this.locked = locked;
  }

  /** Waits for a turn, for a second at most; one thread of a process at a time. */
  static Turn take(Path lock) {
    try {
      FileChannel channel =
          FileChannel.open(lock, StandardOpenOption.CREATE, StandardOpenOption.WRITE);
      try {
        for (int i = 0; i < TRIES; i++) {
          if (channel.tryLock() != null) {
            return new Turn(channel);
          }
          LockSupport.parkNanos(PAUSE_NANOS);
        }
      } catch (IOException e) {
        channel.close();
        throw e;
      }
      channel.close();
    } catch (IOException e) {
      LOG.log(Level.DEBUG, "{0} cannot be locked: {1}", lock, e.toString());
    }
    return new Turn(null);
  }

  @Override
  public void close() throws IOException {
    if (locked != null) {
      locked.close();
    }
  }
}
