package io.pipelane.lanes.process.worker;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.lanes.DeviceEvent;
import io.pipelane.lanes.process.channel.ChannelEnd;
import io.pipelane.lanes.process.channel.Signal;
import java.util.List;

/**
 * The weights of one run, which the server brings in: their pages are mapped just ahead of the wait
 * for what is in them. Belongs to the run's thread.
 */
final class Arrivals extends WorkerArrivals {
  private final ChannelEnd end;
  private final WorkerSession session;
  private final WorkerSteps steps;
  private long mappedBytes;

  Arrivals(ChannelEnd end, WorkerSession session, WorkerSteps steps) {
    this.end = end;
    this.session = session;
    this.steps = steps;
  }

  @Override
  public void await(int segment) {
    long needed = session.plan().segments().get(segment).end();
    if (needed > mappedBytes) {
      steps.reached(WorkerSteps.Step.MAPPING, session.plan().structureHash());
      long begin = mappedBytes;
      WorkerMain.orEnd(() -> session.range().map(begin, needed));
      mappedBytes = needed;
    }
    end.progress().step();
    int arrived = end.arrivals().value();
    if (arrived >= 0 && arrived <= segment) {
      arrived = awaitArrival(segment, arrived);
    }
    if (arrived < 0) {
      throw new StatusException(Status.UNAVAILABLE, "the weights could not be brought in");
    }
    steps.reached(WorkerSteps.Step.COMPUTING, session.plan().structureHash());
  }

  private int awaitArrival(int segment, int seen) {
    long begin = System.nanoTime();
    int arrived = seen;
    while (arrived >= 0 && arrived <= segment) {
      boolean _ = end.arrivals().awaitChange(arrived, Signal.FOREVER);
      arrived = end.arrivals().value();
    }
    stalled(System.nanoTime() - begin);
    return arrived;
  }

  @Override
  public List<DeviceEvent> before(int segment) {
    throw new UnsupportedOperationException("the processor does not wait by itself");
  }

  @Override
  public void giveWay(int segment) {
    end.go().pass(segment);
  }
}
