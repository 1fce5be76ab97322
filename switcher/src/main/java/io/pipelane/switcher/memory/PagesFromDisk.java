package io.pipelane.switcher.memory;

import io.pipelane.modelstore.WeightSource;
import java.util.HashSet;
import java.util.Set;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * The reading of pages from disk into host memory, before they are sent for ahead of runs.
 *
 * <p>Guarded by the memory daemon's lock.
 */
final class PagesFromDisk implements AutoCloseable {
  /*
   * A device makes its copies in order, so one whose source is on a slow disk holds up whatever
   * comes behind it. What a run waits for goes with the disk all the same, as its first layers
   * compute meanwhile. Nobody computes with a page that comes ahead, so it is read first, on a
   * thread of its own, and a copy is sent for when it lies in memory.
   *
   * One page is read at a time. Models whose pages are found to be on disk meanwhile wait for its
   * end, and are looked at again then, in the order of who is wanted most.
   *
   * What has been read once counts as in memory, whatever the system says. It may have no room to
   * keep it, or may not tell.
   */
  private final Consumer<Residency> whenOver;
  private final LongSupplier nanoClock;
  private final ExecutorService reader =
      Executors.newSingleThreadExecutor(
          Thread.ofPlatform().daemon().name("pages-from-disk").factory());
  private final Set<Residency> waiting = new HashSet<>();
  private @Nullable Reading underWay;
  private volatile boolean closed;

  /** The reading of one page. */
  private static final class Reading {
    private final Residency residency;
    private final long end;
    private volatile boolean failed;
    private volatile boolean over; // Written last.

    Reading(Residency residency, long end) {
      this.residency = residency;
      this.end = end;
    }
  }

  /**
   * Reads nothing yet.
   *
   * @param whenOver told a model when its page has been read, or could not be, on any thread
   */
  PagesFromDisk(Consumer<Residency> whenOver, LongSupplier nanoClock) {
    this.whenOver = whenOver;
    this.nanoClock = nanoClock;
  }

  /**
   * Whether a model's next page can be copied without waiting for a disk. If not, it is read, or
   * waits until another one has been: {@link Residency#awaitsDisk} until then.
   *
   * @param origin closed by this if not
   */
  boolean isRead(Residency residency, Origin origin, long offset, long bytes) {
    WeightSource source = origin.upTo(offset + bytes);
    if (residency.readEnd == offset + bytes || source.isInMemory(offset, bytes)) {
      residency.readEnd = 0;
      return true;
    }
    residency.awaitsDisk = true;
    waiting.add(residency);
    if (underWay == null) {
      Reading reading = new Reading(residency, offset + bytes);
      underWay = reading;
      reader.execute(() -> read(reading, origin, source, offset, bytes));
    } else {
      origin.close();
    }
    return false;
  }

  /** On the reader's thread, without the lock. */
  private void read(Reading reading, Origin origin, WeightSource source, long offset, long bytes) {
    try (origin) {
      if (!closed) {
        source.bringIntoMemory(offset, bytes);
      }
    } catch (RuntimeException | Error e) { // A run that needs the page will say why.
      reading.failed = true;
    }
    reading.over = true;
    whenOver.accept(reading.residency);
  }

  /** Takes note of what has been read; those that have waited for it may be asked about again. */
  void settle() {
    Reading reading = underWay;
    if (reading == null || !reading.over) {
      return;
    }
    if (reading.failed) {
      reading.residency.fetchFailed(nanoClock.getAsLong());
    } else {
      reading.residency.readEnd = reading.end;
    }
    underWay = null;
    waiting.forEach(residency -> residency.awaitsDisk = false);
    waiting.clear();
  }

  /** How many models wait for the disk. */
  int waiting() {
    return waiting.size();
  }

  /** Ends after the page that is being read. */
  @Override
  public void close() {
    closed = true;
    reader.shutdownNow().forEach(Runnable::run); // Which read nothing any more.
    boolean interrupted = false;
    while (!reader.isTerminated()) {
      try {
        boolean _ = reader.awaitTermination(1, TimeUnit.MINUTES);
      } catch (InterruptedException e) {
        interrupted = true;
      }
    }
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
  }
}
