package io.pipelane.lanes.process;

import io.pipelane.config.StatusException;
import io.pipelane.lanes.DeviceEvent;
import io.pipelane.lanes.execution.WeightArrivals;
import io.pipelane.lanes.process.channel.NumberedArrival;
import io.pipelane.lanes.process.channel.Signal;
import java.util.ArrayList;
import java.util.List;

/**
 * A publisher that tells a worker which segments of its run have their weights, until it is closed.
 */
final class ArrivalPublisher implements AutoCloseable {
  /*
   * Events happen on other threads, also after the run has ended early and its memory is gone:
   * `closed` keeps them from touching it. The monitor guards everything.
   */

  private record Pending(int segment, DeviceEvent event) {}

  private static final int FAILED = -1;

  private final List<Pending> pending = new ArrayList<>();
  private final Signal arrived;
  private final int segments;
  private int next;
  private boolean closed;

  /**
   * Publishes what has arrived, and goes on as more does.
   *
   * @throws StatusException when some are known not to come
   */
  ArrivalPublisher(WeightArrivals weights, int segments, Signal arrived) {
    this.arrived = arrived;
    this.segments = segments;
    for (int segment = 0; segment < segments; segment++) {
      for (DeviceEvent event : weights.before(segment)) {
        pending.add(new Pending(segment, event));
      }
    }
    arrived.set(pending.isEmpty() ? segments : pending.getFirst().segment);
    pending.forEach(each -> each.event.whenDone(this::advance));
  }

  /** Those that the device itself counts. */
  List<NumberedArrival> numbered() {
    List<NumberedArrival> numbered = new ArrayList<>();
    for (Pending each : pending) {
      each.event
          .number()
          .ifPresent(number -> numbered.add(new NumberedArrival(each.segment, number)));
    }
    return numbered;
  }

  private synchronized void advance() {
    if (closed || hasFailed()) {
      return;
    }
    int seen = next;
    while (next < pending.size() && pending.get(next).event.isDone()) {
      if (failed(pending.get(next).event)) {
        arrived.set(FAILED);
        return;
      }
      next++;
    }
    if (next != seen) {
      arrived.set(next < pending.size() ? pending.get(next).segment : segments);
    }
  }

  private boolean hasFailed() {
    return arrived.value() == FAILED;
  }

  private static boolean failed(DeviceEvent event) {
    try {
      event.await();
      return false;
    } catch (StatusException e) {
      return true;
    }
  }

  /** Whether some weights are still on their way. */
  synchronized boolean isUnderWay() {
    return next < pending.size() && !hasFailed();
  }

  /** Whether the weights will not all come. */
  synchronized boolean failedToArrive() {
    return hasFailed();
  }

  @Override
  public synchronized void close() {
    closed = true;
  }
}
