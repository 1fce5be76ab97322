package io.pipelane.lanes.process;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.lanes.execution.WorkerLostException;
import io.pipelane.lanes.execution.WorkerStuckException;
import io.pipelane.lanes.process.channel.ChannelEnd;
import io.pipelane.lanes.process.channel.Message;
import io.pipelane.lanes.process.channel.ProtocolException;
import java.time.Duration;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/**
 * The exchange of messages on one channel about one thing. Whoever waits for the worker watches it:
 * one that does not get on, or says what cannot be, is ended. Belongs to the thread that has the
 * channel.
 */
final class Conversation {
  private static final long LONGEST_TICK_NANOS = 100_000_000;

  private final WorkerProcess worker;
  private final ChannelEnd end;
  private final Duration patience;
  private final BooleanSupplier excused;
  private final UnreadTime unread;
  private Stage stage = Stage.UNREAD;
  private long steps;
  private long since;

  /** When it has got on last; unlike {@link #since} whether or not it is excused. */
  private long standsSince;

  private boolean isSaidToStand;
  private long awakeFrom;
  private long awakeNanos;

  /** The worker's progress with what it was told. */
  private enum Stage {
    /** It has not taken the message. */
    UNREAD,
    /** It ends something else before. */
    WAITS,
    /** It does it. */
    BEGUN
  }

  /**
   * A conversation.
   *
   * @param patience how long the worker may take for a step
   * @param excused whether it may have to wait for something that the server owes it
   */
  Conversation(WorkerProcess worker, ChannelEnd end, Duration patience, BooleanSupplier excused) {
    this.worker = worker;
    this.end = end;
    this.patience = patience;
    this.excused = excused;
    this.unread = new UnreadTime(patience, worker::processorNanos);
  }

  /**
   * Expects the next answer at some time from now: a thread that is awake then has it sooner.
   *
   * @param aroundNanos how long before and after that to be awake
   */
  void expect(long nanos, long aroundNanos) {
    awakeFrom = System.nanoTime() + nanos - aroundNanos;
    awakeNanos = 2 * aroundNanos;
  }

  /**
   * Says something.
   *
   * @throws StatusException when it is too long to be said; nothing is
   * @throws WorkerLostException when the worker does not listen
   */
  void say(Message.ToWorker message) {
    try {
      end.send(message);
    } catch (IndexOutOfBoundsException e) {
      throw new StatusException(
          Status.INVALID_ARGUMENT,
          "the request has more inputs, outputs and dimensions than a worker can be told of",
          e);
    } catch (ProtocolException e) {
      throw worker.violated(e);
    }
  }

  /**
   * Waits for an answer.
   *
   * @throws WorkerLostException when none will come
   * @throws WorkerStuckException when none will come, and the worker cannot be ended
   */
  Message.ToServer listen() {
    stage = Stage.UNREAD;
    steps = end.progress().steps();
    since = System.nanoTime();
    standsSince = since;
    unread.begin(since);
    long tick = Math.clamp(patience.toNanos() / 4, 1, LONGEST_TICK_NANOS);
    while (true) {
      int mark = end.mark();
      Message message = poll();
      if (message instanceof Message.ToServer answer) {
        sayItGetsOn();
        return answer;
      }
      if (message != null) {
        throw worker.violated(new ProtocolException("it said " + message));
      }
      if (worker.isOver()) {
        throw worker.lost(stage() == Stage.BEGUN);
      }
      if (!await(mark, tick)) {
        watch();
      }
    }
  }

  private boolean await(int mark, long tick) {
    long untilAwake = awakeFrom - System.nanoTime();
    return untilAwake > 0
        ? end.awaitSince(mark, Math.min(tick, untilAwake))
        : end.awaitSince(mark, tick, awakeNanos + untilAwake);
  }

  private @Nullable Message poll() {
    try {
      return end.poll();
    } catch (ProtocolException e) {
      throw worker.violated(e);
    }
  }

  private void watch() {
    long now = System.nanoTime();
    Stage reached = stage(); // Before the steps are read: the worker makes one, and then begins.
    long current = end.progress().steps();
    if (current != steps || reached != stage) {
      stage = reached;
      steps = current;
      since = now;
      standsSince = now;
    } else if (excused.getAsBoolean()) {
      since = now;
      unread.begin(now);
    }
    if (stage != Stage.BEGUN || worker.standsAside(end)) {
      standsSince = now;
      sayItGetsOn(); // It keeps nothing from getting on.
    } else {
      worker.underWay().standsSince(standsSince);
      isSaidToStand = true;
    }
    switch (stage) {
      case UNREAD -> {
        if (unread.isOver(now)) {
          worker.killAsDeaf(unread.passed(now));
        }
      }
      case WAITS -> endAfter(worker.hangTimeout(), now, false);
      case BEGUN -> endAfter(patience, now, true);
    }
  }

  private void endAfter(Duration limit, long now, boolean isBegun) {
    if (now - since > limit.toNanos()) {
      worker.killForHang(limit, now - limit.toNanos() / 2, isBegun);
    }
  }

  private Stage stage() {
    if (!end.isTaken()) {
      return Stage.UNREAD;
    }
    return end.progress().waits() ? Stage.WAITS : Stage.BEGUN;
  }

  private void sayItGetsOn() {
    if (isSaidToStand) {
      worker.underWay().getsOn();
      isSaidToStand = false;
    }
  }
}
