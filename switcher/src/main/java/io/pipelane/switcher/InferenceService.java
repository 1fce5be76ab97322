package io.pipelane.switcher;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.lanes.process.WorkersOverview;
import io.pipelane.modelstore.ModelVersion;
import io.pipelane.switcher.sharing.monitor.SampleRing;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;

/** A service that answers requests for any registered model, resident or not. */
public interface InferenceService {
  /**
   * Queues a request, or runs it where it is short; returns at once, on any thread. The handler may
   * be told the end before this returns.
   *
   * @throws StatusException {@link Status#UNAVAILABLE} when the queue is full or the service
   *     drains, {@link Status#NOT_FOUND} when the model is not registered; the handler is then not
   *     called
   */
  Ticket submit(InferenceRequest request, ResultHandler handler);

  /**
   * Has a version go on answering whoever holds it, though it leaves meanwhile; returns at once, on
   * any thread. Where versions do not leave there is nothing to do.
   *
   * @return to be closed soon: a version that leaves waits for it as for a request
   * @throws StatusException {@link Status#NOT_FOUND} when the model is not registered
   */
  default Hold hold(ModelVersion version) {
    return this::submit;
  }

  /** The state of a sequence; empty when there is no such sequence. */
  default Optional<SequenceState> sequence(ModelVersion model, String id) {
    return Optional.empty();
  }

  /** Whether it can answer at all; false once a device is lost, until the process is restarted. */
  default boolean isUsable() {
    return true;
  }

  /** The processes that models run in; none where they run in the server's own. */
  default WorkersOverview workers() {
    return WorkersOverview.NONE;
  }

  /** What the monitors of devices have kept of the last minutes, by the devices' names. */
  default Map<String, List<SampleRing.Timed>> samples() {
    return Map.of();
  }

  /**
   * Replaces a worker process without failing a request; returns at once.
   *
   * @return completes when it is gone, with {@link Status#NOT_FOUND} when there is no such worker
   */
  default CompletableFuture<Void> recycle(int worker) {
    return CompletableFuture.failedFuture(
        new StatusException(
            Status.NOT_FOUND, "there are no worker processes; see workers.isolation"));
  }

  /** A version that answers its holder. Safe for any thread. */
  @FunctionalInterface
  interface Hold extends AutoCloseable {
    /**
     * As {@link InferenceService#submit}, for the version that is held.
     *
     * @throws StatusException the same; {@link Status#NOT_FOUND} when the version has left since it
     *     would not wait any longer
     */
    Ticket submit(InferenceRequest request, ResultHandler handler);

    /** Lets go; what was submitted is answered. A second call does nothing. */
    @Override
    default void close() {}
  }

  /** A request under way. */
  interface Ticket {
    /** Of a request that has ended. */
    Ticket ENDED = () -> {};

    /**
     * Withdraws the request: it ends with {@link Status#CANCELLED}, at its next gate if it runs. A
     * run that has no more gates, that computes in another process, or that answers others too who
     * have not withdrawn, is finished and its handler told the result.
     */
    void cancel();

    /** The same for a request that has not begun to run; one that runs is finished. */
    default void withdraw() {
      cancel();
    }
  }
}
