package io.pipelane.lanes.process.worker;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.lanes.EphemeralRegion;
import io.pipelane.lanes.process.channel.ChannelEnd;
import io.pipelane.lanes.process.channel.Message;
import io.pipelane.lanes.process.channel.PlacedTensor;
import io.pipelane.lanes.process.channel.ProtocolException;
import java.util.concurrent.locks.Lock;

/** The runs of one lane. Belongs to the lane's thread. */
final class LaneRuns {
  /** Why an answer cannot be told to the server. */
  static final String TOO_LONG =
      "the outputs that the request wants have more dimensions together than a worker can tell of;"
          + " ask for fewer outputs at a time";

  private final int number;
  private final ChannelEnd end;
  private final WorkerDevice device;
  private final WorkerSessions sessions;
  private final WorkerLanes lanes;
  private final WorkerSteps steps;

  LaneRuns(
      int number,
      ChannelEnd end,
      WorkerDevice device,
      WorkerSessions sessions,
      WorkerLanes lanes,
      WorkerSteps steps) {
    this.number = number;
    this.end = end;
    this.device = device;
    this.sessions = sessions;
    this.lanes = lanes;
    this.steps = steps;
  }

  /** Runs once; what it throws is what the session has thrown. */
  Message run(Message.Run run) {
    WorkerSession session = sessions.get(run.session());
    String structure = session.plan().structureHash();
    steps.reached(WorkerSteps.Step.RUNNING, structure);
    WorkerLane here = lanes.open(number, run.lane());
    EphemeralRegion region = here.region();
    WorkerArrivals arrivals = device.arrivals(run, end, session);
    device.begins(number);
    region.limit(run.lane().limitBytes());
    region.resetPeak();
    boolean[] answered = new boolean[1];
    try (PlacedInvocation invocation =
        new PlacedInvocation(
            session.plan(),
            run,
            device.serverMemory(),
            this::place,
            here.host(),
            here.hostGrowth(bytes -> grow(region, bytes)),
            true,
            placed -> {
              tell(ran(session, region, arrivals, placed, true));
              answered[0] = true;
            })) {
      runWhole(session, invocation, region, arrivals);
      if (!session.hasRun().getAndSet(true) || answered[0]) {
        end.send(new Message.Noted(session.session().notes()));
      }
      steps.reached(WorkerSteps.Step.RAN, structure);
      return answered[0]
          ? new Message.Finished(
              region.peakBytes(),
              session.heldBytes(),
              session.session().isCaptured(),
              arrivals.takeSegmentTimes())
          : ran(session, region, arrivals, invocation, false);
    }
  }

  /** Tells of a run that goes on; without its times where there is no room for them. */
  private void tell(Message.Ran ran) {
    if (!end.offer(ran) && !end.offer(ran.withoutTimes())) {
      throw new StatusException(Status.INVALID_ARGUMENT, TOO_LONG);
    }
  }

  private void runWhole(
      WorkerSession session,
      PlacedInvocation invocation,
      EphemeralRegion region,
      WorkerArrivals arrivals) {
    Lock whole = session.use().readLock();
    whole.lock();
    try {
      session.session().run(invocation, region, bytes -> grow(region, bytes), arrivals);
    } finally {
      whole.unlock();
    }
  }

  private static Message.Ran ran(
      WorkerSession session,
      EphemeralRegion region,
      WorkerArrivals arrivals,
      PlacedInvocation invocation,
      boolean goesOn) {
    return new Message.Ran(
        region.peakBytes(),
        arrivals.stallNanos(),
        session.heldBytes(),
        arrivals.takeSegmentTimes(),
        goesOn,
        invocation.results());
  }

  /** How far the last run's allocations reached. */
  long peakBytes() {
    return lanes.peakBytes(number);
  }

  /** Asks for an output's place while the device computes it. */
  private long place(int position, PlacedTensor output) {
    end.send(new Message.Place(position, output));
    Message answer = ChannelLoop.receive(end);
    if (!(answer instanceof Message.Placed placed)) {
      throw new ProtocolException("the server said " + answer);
    }
    return placed.offset();
  }

  /** The server's limit for the lane is raised, and told, while the run waits. */
  private boolean grow(EphemeralRegion region, long bytes) {
    end.send(new Message.Grow(bytes, region.peakBytes()));
    Message answer = ChannelLoop.receive(end);
    if (!(answer instanceof Message.Grown grown)) {
      throw new ProtocolException("the server said " + answer);
    }
    boolean larger = grown.limitBytes() > region.limitBytes();
    device.tidyStates(); // The server has written states out for it, perhaps.
    region.limit(grown.limitBytes());
    return larger;
  }
}
