package io.pipelane.switcher.schedule.policy;

import io.pipelane.modelstore.ModelVersion;
import io.pipelane.switcher.schedule.estimate.Estimates;
import io.pipelane.switcher.schedule.queue.QueuedRequest;
import java.util.HashMap;
import java.util.Map;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * The device memory that the requests that run are known to take, and whether one more fits beside
 * them. This is Salus' safety condition, ahead of the lanes and the memory daemon, which enforce
 * it. Not safe for several threads: the queue guards it.
 */
public final class Room {
  private final Estimates estimates;
  private final long weightBytes;
  private final LongSupplier laneBytes;
  private final Map<QueuedRequest, Long> lanes = new HashMap<>();
  private final Map<ModelVersion, Integer> models = new HashMap<>();
  private long weightsTaken;
  private long lanesTaken;

  /**
   * Empty room.
   *
   * @param estimates tell what runs take
   * @param weightBytes what there is for weights
   * @param laneBytes what there is for lanes at present
   */
  public Room(Estimates estimates, long weightBytes, LongSupplier laneBytes) {
    this.estimates = estimates;
    this.weightBytes = weightBytes;
    this.laneBytes = laneBytes;
  }

  /** Whether a request can begin at once; always so when nothing runs. */
  boolean fits(QueuedRequest request) {
    if (lanes.isEmpty()) {
      return true;
    }
    boolean runs = models.containsKey(request.request().model());
    long weights = runs ? 0 : request.weightBytes();
    return weightsTaken + weights <= weightBytes
        && lanesTaken + estimates.ephemeralBytes(request.key()) <= laneBytes.getAsLong();
  }

  /** Bytes that a request keeps others from having while it runs, its state's among them. */
  long bytes(QueuedRequest request) {
    return request.weightBytes()
        + estimates.ephemeralBytes(request.key())
        + request.request().place().stateBytes().getAsLong();
  }

  /** A request begins. */
  void take(QueuedRequest request) {
    long bytes = estimates.ephemeralBytes(request.key());
    lanes.put(request, bytes);
    lanesTaken += bytes;
    if (models.merge(request.request().model(), 1, Integer::sum) == 1) {
      weightsTaken += request.weightBytes();
    }
  }

  /** It has ended; one that has not begun gives nothing back. */
  void giveBack(QueuedRequest request) {
    @Nullable Long bytes = lanes.remove(request);
    if (bytes == null) {
      return;
    }
    lanesTaken -= bytes;
    ModelVersion model = request.request().model();
    if (models.merge(model, -1, Integer::sum) == 0) {
      models.remove(model);
      weightsTaken -= request.weightBytes();
    }
  }
}
