package io.pipelane.lanes.process.worker;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.lanes.DeviceEvent;
import io.pipelane.lanes.cuda.worker.CudaWorkerDevice;
import io.pipelane.lanes.process.channel.ChannelEnd;
import io.pipelane.lanes.process.channel.Message;
import io.pipelane.lanes.process.channel.NumberedArrival;
import java.util.ArrayList;
import java.util.List;

/**
 * The weights of one run, which the server brings in: their pages are mapped just ahead of the
 * segment that needs them, and the device itself waits for what is in them. Belongs to the run's
 * thread.
 */
final class DeviceArrivals extends WorkerArrivals {
  /** Most online runs are shorter; where cores are few the thread sleeps meanwhile. */
  private static final long AWAKE_NANOS = 4_000_000;

  private final CudaWorkerDevice device;
  private final Message.Run run;
  private final ChannelEnd end;
  private final WorkerSession session;
  private final WorkerSteps steps;
  private int handedOut;
  private long mappedBytes;

  DeviceArrivals(
      CudaWorkerDevice device,
      Message.Run run,
      ChannelEnd end,
      WorkerSession session,
      WorkerSteps steps) {
    this.device = device;
    this.run = run;
    this.end = end;
    this.session = session;
    this.steps = steps;
  }

  @Override
  public List<DeviceEvent> before(int segment) {
    requireArriving();
    long needed = session.plan().segments().get(segment).end();
    if (needed > mappedBytes) {
      steps.reached(WorkerSteps.Step.MAPPING, session.plan().structureHash());
      session.range().map(mappedBytes, needed);
      mappedBytes = needed;
    }
    end.progress().step();
    List<DeviceEvent> events = new ArrayList<>();
    List<NumberedArrival> arrivals = run.arrivals();
    while (handedOut < arrivals.size() && arrivals.get(handedOut).segment() <= segment) {
      DeviceEvent arrival = device.arrival(arrivals.get(handedOut).number());
      if (!arrival.isDone()) {
        events.add(arrival);
      }
      handedOut++;
    }
    steps.reached(WorkerSteps.Step.COMPUTING, session.plan().structureHash());
    return events;
  }

  /** The server trusts no output before all weights have arrived, and waits for that itself. */
  @Override
  public void await(int segment) {
    requireArriving();
  }

  private void requireArriving() {
    if (end.arrivals().value() < 0) {
      throw new StatusException(Status.UNAVAILABLE, "the weights could not be brought in");
    }
  }

  @Override
  public int segmentsAhead() {
    return run.segmentsAhead();
  }

  @Override
  public void giveWay(int segment) {
    end.go().pass(segment, device.awakeNanos() > 0 ? AWAKE_NANOS : 0);
  }
}
