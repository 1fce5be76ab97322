package io.pipelane.server.memory;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import java.util.concurrent.atomic.AtomicLong;

/**
 * The part of Java's heap that large requests may take together while they are read. Some become
 * twenty times as large there as they came: an object for each string, a number of eight bytes for
 * each byte. Safe for any thread.
 */
public final class HeapRoom {
  /** What there is for all requests of this process. */
  public static final HeapRoom OF_REQUESTS = new HeapRoom(Runtime.getRuntime().maxMemory() / 8 * 5);

  private final long mostBytes;
  private final AtomicLong takenBytes = new AtomicLong();

  public HeapRoom(long mostBytes) {
    this.mostBytes = mostBytes;
  }

  public long mostBytes() {
    return mostBytes;
  }

  /** What requests have at this moment. */
  public long takenBytes() {
    return takenBytes.get();
  }

  /** A request's share, of nothing at first. */
  public Share share() {
    return new Share();
  }

  /** What one request has taken. Used by one thread after another. */
  public final class Share implements AutoCloseable {
    private long bytes;

    private Share() {}

    /**
     * Takes so many bytes more.
     *
     * @throws StatusException {@link Status#INSUFFICIENT_MEMORY} when one request can never have as
     *     much, {@link Status#UNAVAILABLE} when others have it
     */
    public void take(long more) {
      if (more == 0) {
        return;
      }
      if (bytes + more > mostBytes) {
        throw new StatusException(Status.INSUFFICIENT_MEMORY, message(more, 0));
      }
      long taken;
      do {
        taken = takenBytes.get();
        if (taken + more > mostBytes) {
          throw StatusException.unavailable(message(more, taken));
        }
      } while (!takenBytes.compareAndSet(taken, taken + more));
      bytes += more;
    }

    private String message(long more, long taken) {
      return "reading the request takes %d bytes of the %d of Java's heap that are for requests"
              .formatted(bytes + more, mostBytes)
          + (taken == 0 ? "" : ", of which %d are taken".formatted(taken))
          + "; send less at a time, numbers and short strings as raw contents, or raise -Xmx";
    }

    /** Gives all of it back. */
    @Override
    public void close() {
      if (bytes > 0) { // Small requests, of which there are many, share no counter.
        takenBytes.addAndGet(-bytes);
        bytes = 0;
      }
    }
  }
}
