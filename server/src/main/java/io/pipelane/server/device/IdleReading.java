package io.pipelane.server.device;

import io.pipelane.lanes.completion.ThreadEnd;
import io.pipelane.modelstore.ImportedModel;
import io.pipelane.switcher.memory.account.Demand;
import java.lang.System.Logger.Level;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import java.util.function.LongSupplier;
import java.util.function.Supplier;

/**
 * The reading of weights that are likely to be asked for from disk into free host memory, while
 * nothing else is to be done. Safe for any thread.
 */
final class IdleReading implements AutoCloseable {
  /*
   * What a byte in host memory saves is its model's rate times what the disk is slower than that.
   * So the room goes to the models that are asked for most, as rates of all devices say together.
   * What is on a device already saves nothing. Nobody is given up for them.
   *
   * Reading begins when all devices have been idle for a while, and rests as long as it has read,
   * so that a disk that others use too has half of its time left. Where there was nothing to read,
   * it looks less and less often: to look is to ask the system about each page of each file. Where
   * nothing was wanted either, nobody was asked, and it looks as soon as before.
   *
   * When a request comes, a file that is mapped is left off where it is. One that fills memory is
   * read to its end, some tenths of a second.
   */
  private static final System.Logger LOG = System.getLogger(IdleReading.class.getName());

  /** Idle for less, it is about to go on. */
  static final long QUIET_NANOS = Duration.ofMillis(200).toNanos();

  /** After a look when there was nothing to read, the first time; twice as long the next. */
  static final long PAUSE_NANOS = Duration.ofSeconds(1).toNanos();

  /** The longest pause of these. */
  static final long LONGEST_PAUSE_NANOS = Duration.ofMinutes(1).toNanos();

  /** A reader of a file ahead; see {@link io.pipelane.modelstore.host.HostTier#readAhead}. */
  interface Reader {
    long read(Path weights, long byteSize, BooleanSupplier goesOn);
  }

  private final Supplier<List<Demand>> demands;
  private final Reader reader;
  private final BooleanSupplier idle;
  private final LongSupplier nanoClock;
  private final Thread thread;
  private boolean wasIdle;
  private long idleSinceNanos;
  private long pauseNanos = PAUSE_NANOS;
  private volatile boolean closed;

  /**
   * Reads nothing before it is started.
   *
   * @param demands of all devices; a model may be there several times
   * @param idle whether nothing else is to be done at present
   */
  IdleReading(
      Supplier<List<Demand>> demands, Reader reader, BooleanSupplier idle, LongSupplier nanoClock) {
    this.demands = demands;
    this.reader = reader;
    this.idle = idle;
    this.nanoClock = nanoClock;
    this.thread = Thread.ofPlatform().daemon().name("idle-reading").unstarted(this::work);
  }

  IdleReading start() {
    thread.start();
    return this;
  }

  private void work() {
    while (!closed) {
      long restNanos = LONGEST_PAUSE_NANOS;
      try {
        restNanos = step();
      } catch (RuntimeException e) { // The next look may find what this one did not.
        LOG.log(Level.WARNING, "reading weights ahead failed", e);
      }
      LockSupport.parkNanos(this, restNanos);
    }
  }

  /**
   * Reads one file, if now is the time and there is one.
   *
   * @return how long to rest
   */
  long step() {
    long now = nanoClock.getAsLong();
    if (!idle.getAsBoolean()) {
      wasIdle = false;
      return QUIET_NANOS;
    }
    if (!wasIdle) {
      wasIdle = true;
      idleSinceNanos = now;
    }
    long quiet = now - idleSinceNanos;
    if (quiet < QUIET_NANOS) {
      return QUIET_NANOS - quiet;
    }
    List<Demand> wanted = mostWantedFirst();
    if (wanted.isEmpty()) {
      return PAUSE_NANOS;
    }
    for (Demand demand : wanted) {
      if (read(demand.model()) > 0) {
        pauseNanos = PAUSE_NANOS;
        return Math.max(1, nanoClock.getAsLong() - now);
      }
    }
    long rest = pauseNanos;
    pauseNanos = Math.min(LONGEST_PAUSE_NANOS, 2 * rest);
    return rest;
  }

  private long read(ImportedModel model) {
    try {
      return reader.read(
          model.weights(), model.plan().weightBytes(), () -> !closed && idle.getAsBoolean());
    } catch (RuntimeException e) { // Whoever needs the file will say what is wrong with it.
      LOG.log(Level.WARNING, "{0} is not read ahead: {1}", model.version(), e);
      return 0;
    }
  }

  private List<Demand> mostWantedFirst() {
    Map<Path, Demand> byFile = new HashMap<>();
    for (Demand demand : demands.get()) {
      byFile.merge(
          demand.model().weights(),
          demand,
          (one, other) -> new Demand(one.model(), one.perSecond() + other.perSecond()));
    }
    return byFile.values().stream()
        .sorted(Comparator.comparingDouble(Demand::perSecond).reversed())
        .toList();
  }

  /** Ends after the file that is being read. */
  @Override
  public void close() {
    closed = true;
    LockSupport.unpark(thread);
    ThreadEnd.await(thread);
  }
}
