package io.pipelane.server.device;

import io.pipelane.lanes.calibration.Calibration;
import io.pipelane.lanes.calibration.CalibrationFile;
import io.pipelane.lanes.completion.ThreadEnd;
import java.io.IOException;
import java.io.Serial;
import java.lang.System.Logger.Level;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.LongConsumer;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * The measurement of a link while it is served from, in moments in which nothing else is to be
 * done, whose result is kept. Safe for any thread.
 */
public final class IdleCalibration implements AutoCloseable {
  private static final System.Logger LOG = System.getLogger(IdleCalibration.class.getName());
  private static final long LOOK_AGAIN_NANOS = 10_000_000;

  /** A server that is never idle is measured all the same, a row of copies each so long. */
  static final long LONGEST_WAIT_NANOS = 10_000_000_000L;

  private final Function<Runnable, Calibration> measurement;
  private final CalibrationFile file;
  private final Consumer<Calibration> found;
  private final BooleanSupplier idle;
  private final LongSupplier nanoClock;
  private final LongConsumer pause;
  private @Nullable Thread thread; // Written under the monitor, as closed is.
  private volatile boolean closed;

  /**
   * Measures once it is started.
   *
   * @param measurement calls its argument before each piece of work
   * @param file keeps the result
   * @param found takes it, on a thread of its own
   * @param idle whether nothing else is to be done at present
   * @param pause sleeps for so many nanoseconds
   */
  IdleCalibration(
      Function<Runnable, Calibration> measurement,
      CalibrationFile file,
      Consumer<Calibration> found,
      BooleanSupplier idle,
      LongSupplier nanoClock,
      LongConsumer pause) {
    this.measurement = measurement;
    this.file = file;
    this.found = found;
    this.idle = idle;
    this.nanoClock = nanoClock;
    this.pause = pause;
  }

  /** Begins, the first time; does not block. */
  public synchronized void start() {
    if (thread == null && !closed) {
      thread = Thread.ofPlatform().daemon().name("calibration").start(this::measure);
    }
  }

  /** Measures on the calling thread; what fails leaves the link as unknown as it was. */
  void measure() {
    try {
      Calibration calibration = measurement.apply(this::awaitTurn);
      found.accept(calibration);
      file.write(calibration);
    } catch (ClosedException e) {
      LOG.log(Level.DEBUG, "the link was not measured before the end");
    } catch (IOException | RuntimeException | OutOfMemoryError e) { // It is served from as before.
      LOG.log(Level.WARNING, "measuring the link failed: {0}", e.getMessage());
    }
  }

  private void awaitTurn() {
    long begin = nanoClock.getAsLong();
    while (!closed && !idle.getAsBoolean() && nanoClock.getAsLong() - begin < LONGEST_WAIT_NANOS) {
      pause.accept(LOOK_AGAIN_NANOS);
    }
    if (closed) {
      throw new ClosedException();
    }
  }

  /** Ends what was begun, after a row of copies at most. */
  @Override
  public void close() {
    Thread started;
    synchronized (this) {
      closed = true;
      started = thread;
    }
    if (started != null) {
      ThreadEnd.await(started);
    }
  }

  /** The end of a measurement whose result nobody wants to know any more. */
  private static final class ClosedException extends RuntimeException {
    @Serial private static final long serialVersionUID = 1L;
  }
}
