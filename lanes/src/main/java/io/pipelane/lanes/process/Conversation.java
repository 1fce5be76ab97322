package io.pipelane.lanes.process;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.lanes.execution.WorkerLostException;
import io.pipelane.lanes.process.channel.ChannelEnd;
import io.pipelane.lanes.process.channel.Message;
import io.pipelane.lanes.process.channel.ProtocolException;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * What is said on one channel about one thing. Whoever waits for the worker watches it: one that
 * does not get on, or says what cannot be, is ended. Belongs to the thread that has the channel.
 */
final class Conversation {
  private static final long LONGEST_TICK_NANOS = 100_000_000;

  private final WorkerProcess worker;
  private final ChannelEnd end;
  private final Duration patience;
  private long steps;
  private long since;

  /**
   * A conversation.
   *
   * @param patience how long the worker may take for a step
   */
  Conversation(WorkerProcess worker, ChannelEnd end, Duration patience) {
    this.worker = worker;
    this.end = end;
    this.patience = patience;
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
      throw violated(e);
    }
  }

  /**
   * Waits for an answer.
   *
   * @throws WorkerLostException when none will come
   */
  Message.ToServer listen() {
    steps = end.progress().steps();
    since = System.nanoTime();
    long tick = Math.clamp(patience.toNanos() / 4, 1, LONGEST_TICK_NANOS);
    while (true) {
      int mark = end.mark();
      Message message = poll();
      if (message instanceof Message.ToServer answer) {
        return answer;
      }
      if (message != null) {
        throw violated(new ProtocolException("it said " + message));
      }
      if (worker.isGone()) {
        throw worker.lost();
      }
      if (!end.awaitSince(mark, tick)) {
        watch();
      }
    }
  }

  private @Nullable Message poll() {
    try {
      return end.poll();
    } catch (ProtocolException e) {
      throw violated(e);
    }
  }

  private void watch() {
    long now = System.nanoTime();
    long current = end.progress().steps();
    if (current != steps || end.progress().waiting()) {
      steps = current;
      since = now;
    } else if (now - since > patience.toNanos()) {
      worker.kill("it hangs, not having got on for " + patience);
    }
  }

  /** Ends a worker that is not to be trusted, and waits until it is gone. */
  WorkerLostException violated(ProtocolException what) {
    worker.kill("it does not keep to the protocol: " + what.getMessage());
    return worker.lost();
  }
}
