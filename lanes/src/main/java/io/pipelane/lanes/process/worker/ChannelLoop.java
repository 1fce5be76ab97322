package io.pipelane.lanes.process.worker;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.lanes.execution.OutOfDeviceMemoryException;
import io.pipelane.lanes.process.channel.ChannelEnd;
import io.pipelane.lanes.process.channel.Message;
import io.pipelane.lanes.process.channel.ProtocolException;
import io.pipelane.lanes.process.channel.Signal;
import java.util.concurrent.CountDownLatch;
import org.jspecify.annotations.Nullable;

/** The loop that does what a server says through one channel, one thing after another. */
final class ChannelLoop implements Runnable {
  /** What ONNX Runtime says when C++ has no memory; its device memory is another matter. */
  private static final String NO_MEMORY = "bad_alloc";

  private final ChannelEnd end;
  private final WorkerSessions sessions;
  private final WarmUps warmUps;
  private final @Nullable LaneRuns runs; // of a lane alone
  private final long awakeNanos;
  private volatile boolean busy;
  private volatile boolean ending;

  private ChannelLoop(
      ChannelEnd end,
      WorkerSessions sessions,
      WarmUps warmUps,
      @Nullable LaneRuns runs,
      long awakeNanos) {
    this.end = end;
    this.awakeNanos = awakeNanos;
    this.sessions = sessions;
    this.warmUps = warmUps;
    this.runs = runs;
  }

  /** Of a channel that sessions are built through, and all else is asked but runs. */
  static ChannelLoop ofControl(ChannelEnd end, WorkerSessions sessions, WarmUps warmUps) {
    return new ChannelLoop(end, sessions, warmUps, null, 0);
  }

  /**
   * Of a lane's channel.
   *
   * @param awakeNanos how long to stay awake for what the server says next
   */
  static ChannelLoop ofLane(
      LaneRuns runs, long awakeNanos, ChannelEnd end, WorkerSessions sessions, WarmUps warmUps) {
    return new ChannelLoop(end, sessions, warmUps, runs, awakeNanos);
  }

  /** Returns never; a server that is not understood ends the process. */
  @Override
  public void run() {
    try {
      while (true) {
        Message question = receive(end, awakeNanos);
        busy = true;
        if (ending) { // A server that lives may ask for more.
          busy = false;
          new CountDownLatch(1).await();
        }
        Message answer = answer(question);
        if (sessions.isLost()) {
          System.err.println("the device does no more for this process: " + answer);
          ProcessExit.now(WorkerMain.DEVICE_LOST);
        }
        if (!(ending && answer instanceof Message.Failed)) { // Who asks is to ask another worker.
          say(answer);
        }
        busy = false;
      }
    } catch (Throwable e) {
      e.printStackTrace(); // Ends up in the server's log.
      ProcessExit.now(WorkerMain.MISUNDERSTOOD);
    }
  }

  /** Says what it has come to; what is too long to be said is the request's fault. */
  private void say(Message answer) {
    boolean said =
        answer instanceof Message.Ran ran
            ? end.offer(ran) || end.offer(ran.withoutTimes())
            : end.offer(answer);
    if (!said) {
      end.send(new Message.Failed(Status.INVALID_ARGUMENT, 0, peakBytes(), LaneRuns.TOO_LONG));
    }
  }

  /**
   * Has a run end at its next gate, also one that stands there, and begins nothing more: the
   * process is about to end. Again and again until it is not busy.
   */
  void end() {
    ending = true;
    end.go().endHere();
  }

  /** Whether something is being done. */
  boolean isBusy() {
    return busy;
  }

  /** Waits for a message. */
  static Message receive(ChannelEnd end) {
    return receive(end, 0);
  }

  private static Message receive(ChannelEnd end, long awakeNanos) {
    while (true) {
      int mark = end.mark();
      Message message = end.poll();
      if (message != null) {
        return message;
      }
      boolean _ = end.awaitSince(mark, Signal.FOREVER, awakeNanos);
    }
  }

  private Message answer(Message message) {
    try {
      if (message instanceof Message.WarmUp warmUp) {
        return warmUps.carryOut(warmUp);
      }
      try (WarmUps.Apart _ = warmUps.apart(end, isUrgent(message))) {
        return answerApart(message);
      }
    } catch (ProtocolException e) {
      throw e;
    } catch (OutOfDeviceMemoryException e) {
      return new Message.Failed(
          Status.INSUFFICIENT_MEMORY, e.refusedBytes(), peakBytes(), e.toString());
    } catch (StatusException e) {
      if (String.valueOf(e.getMessage()).contains(NO_MEMORY)) {
        WorkerMain.unfit(e);
      }
      return new Message.Failed(e.status(), 0, peakBytes(), String.valueOf(e.getMessage()));
    } catch (RuntimeException e) {
      return new Message.Failed(Status.INTERNAL, 0, peakBytes(), e.toString());
    }
  }

  private long peakBytes() {
    return runs == null ? 0 : runs.peakBytes();
  }

  /** Whether somebody waits for it who would rather not. */
  private static boolean isUrgent(Message message) {
    return message instanceof Message.Run
        || message instanceof Message.Build
        || message instanceof Message.Close
        || message instanceof Message.Shrink
        || message instanceof Message.CaptureAgain
        || message instanceof Message.Tidy
        || message instanceof Message.Check;
  }

  private Message answerApart(Message message) {
    return switch (message) {
      case Message.Build build -> sessions.build(build);
      case Message.Close close -> sessions.close(close);
      case Message.Shrink shrink -> sessions.shrink(shrink, end.progress());
      case Message.CaptureAgain again -> sessions.captureAgain(again, end.progress());
      case Message.Tidy _ -> sessions.tidy();
      case Message.Check _ -> sessions.check();
      case Message.Run run when runs != null -> runs.run(run);
      default -> throw new ProtocolException("the server said " + message);
    };
  }
}
