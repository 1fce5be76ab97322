package io.pipelane.lanes.execution;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import java.time.Duration;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Consumer;
import java.util.function.LongSupplier;

/**
 * The end of runs in this process that compute for too long without coming to a gate, as graphs
 * with loops may: values say how often those repeat a part of themselves. Safe for any thread.
 */
public final class EndlessRuns implements AutoCloseable {
  /** How often it looks within the time that a run may take. */
  private static final int LOOKS = 8;

  private static final System.Logger LOG = System.getLogger(EndlessRuns.class.getName());

  private final Duration longest;
  private final LongSupplier nanoClock;
  private final Set<Watched> underWay = ConcurrentHashMap.newKeySet();
  private final Thread thread;

  /**
   * Ends nothing before somebody {@link #watch}es a run.
   *
   * @param longest that a run may compute from one gate to the next
   * @param nanoClock as runs' segments are measured by
   */
  public EndlessRuns(Duration longest, LongSupplier nanoClock) {
    this.longest = longest;
    this.nanoClock = nanoClock;
    this.thread = Thread.ofVirtual().name("endless-runs").start(this::work);
  }

  private void work() {
    try {
      while (true) {
        Thread.sleep(longest.dividedBy(LOOKS));
        look();
      }
    } catch (InterruptedException e) {
      // It is closed.
    }
  }

  /** Ends the runs that have computed for too long by now. */
  void look() {
    long now = nanoClock.getAsLong();
    for (Watched run : underWay) {
      try {
        run.look(now);
      } catch (RuntimeException e) {
        LOG.log(System.Logger.Level.ERROR, "an endless run could not be ended", e);
      }
    }
  }

  /**
   * Watches a run that is about to compute, until what is returned is closed.
   *
   * @param end has it fail soon, for a reason; returns at once
   */
  Watched watch(TimedGates gates, Consumer<StatusException> end) {
    Watched run = new Watched(gates, end);
    underWay.add(run);
    return run;
  }

  @Override
  public void close() {
    thread.interrupt();
  }

  /** A run that computes. */
  final class Watched implements AutoCloseable {
    private final TimedGates gates;
    private final Consumer<StatusException> end;
    private boolean isOver;

    private Watched(TimedGates gates, Consumer<StatusException> end) {
      this.gates = gates;
      this.end = end;
    }

    private synchronized void look(long nowNanos) {
      if (!isOver && gates.computingNanos(nowNanos) > longest.toNanos()) {
        isOver = true;
        end.accept(
            new StatusException(
                Status.DEADLINE_EXCEEDED,
                "the run was ended, as it computed for more than %d ms from one gate to the next:"
                        .formatted(longest.toMillis())
                    + " send values that have the model's loops repeat less, or raise"
                    + " workers.hang-timeout"));
      }
    }

    /** The run has ended, and is not to be ended any more. */
    @Override
    public synchronized void close() {
      isOver = true;
      underWay.remove(this);
    }
  }
}
