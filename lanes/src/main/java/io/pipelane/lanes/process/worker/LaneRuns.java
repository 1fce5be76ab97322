package io.pipelane.lanes.process.worker;

import io.pipelane.lanes.cpu.WorkerMemory;
import io.pipelane.lanes.cpu.WorkerRegion;
import io.pipelane.lanes.process.channel.ChannelEnd;
import io.pipelane.lanes.process.channel.Message;
import io.pipelane.lanes.process.channel.ProtocolException;
import org.jspecify.annotations.Nullable;

/** The runs of one lane. Belongs to the lane's thread. */
final class LaneRuns {
  private final ChannelEnd end;
  private final WorkerMemory memory;
  private final WorkerSessions sessions;
  private final WorkerSteps steps;
  private @Nullable WorkerRegion region;

  LaneRuns(ChannelEnd end, WorkerMemory memory, WorkerSessions sessions, WorkerSteps steps) {
    this.end = end;
    this.memory = memory;
    this.sessions = sessions;
    this.steps = steps;
  }

  /** Runs once; what it throws is what the session has thrown. */
  Message.Ran run(Message.Run run) {
    WorkerSession session = sessions.get(run.session());
    WorkerRegion lane = region(run);
    lane.limit(run.limitBytes());
    lane.resetPeak();
    String structure = session.plan().structureHash();
    steps.reached(WorkerSteps.Step.RUNNING, structure);
    Arrivals arrivals = new Arrivals(end, session, steps);
    try (PlacedInvocation invocation =
        new PlacedInvocation(session.plan(), run, lane, bytes -> grow(lane, bytes))) {
      session.session().run(invocation, lane, bytes -> grow(lane, bytes), arrivals);
      steps.reached(WorkerSteps.Step.RAN, structure);
      return new Message.Ran(lane.peakBytes(), arrivals.stallNanos(), invocation.results());
    }
  }

  /** How far the last run's allocations reached. */
  long peakBytes() {
    return region == null ? 0 : region.peakBytes();
  }

  /** The server's limit for the lane is raised, and told, while the run waits. */
  private boolean grow(WorkerRegion lane, long bytes) {
    end.send(new Message.Grow(bytes, lane.peakBytes()));
    Message answer = ChannelLoop.receive(end);
    if (!(answer instanceof Message.Grown grown)) {
      throw new ProtocolException("the server said " + answer);
    }
    boolean larger = grown.limitBytes() > lane.limitBytes();
    lane.limit(grown.limitBytes());
    return larger;
  }

  /** The lane's memory, opened by its first run here. */
  private WorkerRegion region(Message.Run run) {
    WorkerRegion known = region;
    if (known == null) {
      known = memory.region(run.region(), run.regionBytes());
      region = known;
    }
    return known;
  }
}
