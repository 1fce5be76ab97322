package io.pipelane.server.device;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.modelstore.ModelVersion;
import io.pipelane.switcher.InferenceRequest;
import io.pipelane.switcher.InferenceService.Hold;
import io.pipelane.switcher.InferenceService.Ticket;
import io.pipelane.switcher.KeptByAnotherVersion;
import io.pipelane.switcher.ResultHandler;
import io.pipelane.switcher.SequenceStep;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * The contents that versions had before the one that answers now, where sequences that began with
 * them may go on: one for each version. Safe for any thread.
 */
final class EarlierContents {
  /** A sequence that had no step for so long may be gone. */
  private static final long IDLE_NANOS = Duration.ofMinutes(1).toNanos();

  private final LongSupplier nanoClock;

  /** By the content that answers now. */
  private final Map<ModelVersion, Earlier> contents = new ConcurrentHashMap<>();

  /** None yet. */
  EarlierContents(LongSupplier nanoClock) {
    this.nanoClock = nanoClock;
  }

  private static final class Earlier {
    private final ModelVersion version;
    private volatile long askedNanos;

    Earlier(ModelVersion version, long nowNanos) {
      this.version = version;
      this.askedNanos = nowNanos;
    }
  }

  /** From now on a content goes on with what it has begun, beside the one that follows it. */
  void keep(ModelVersion earlier, ModelVersion latest) {
    contents.put(latest, new Earlier(earlier, nanoClock.getAsLong()));
  }

  /** Keeps none beside a content any more; answers which it was, if there was one. */
  Optional<ModelVersion> remove(ModelVersion latest) {
    return Optional.ofNullable(contents.remove(latest)).map(earlier -> earlier.version);
  }

  /** Whether there is one beside a content. */
  boolean hasOneBeside(ModelVersion latest) {
    return contents.containsKey(latest);
  }

  /** Whether the one beside a content may have no sequence any more. */
  boolean isIdleBeside(ModelVersion latest) {
    @Nullable Earlier earlier = contents.get(latest);
    return earlier != null && nanoClock.getAsLong() - earlier.askedNanos >= IDLE_NANOS;
  }

  /** The contents beside which there is one that may have no sequence any more. */
  List<ModelVersion> idle() {
    return contents.keySet().stream().filter(this::isIdleBeside).toList();
  }

  /**
   * Has a content answer, or the one before it where that has the request's sequence.
   *
   * @param latest takes requests for the content that answers now
   * @param any takes requests for any content
   * @throws StatusException as these do
   */
  Ticket submit(InferenceRequest request, ResultHandler handler, Hold latest, Hold any) {
    try {
      return latest.submit(request, handler);
    } catch (StatusException e) {
      @Nullable Earlier earlier = contents.get(request.model());
      if (earlier == null || !maySayThatItHasNotBegun(e, request)) {
        throw e;
      }
      return submit(of(earlier.version, request), handler, any, earlier, e);
    }
  }

  private Ticket submit(
      InferenceRequest request,
      ResultHandler handler,
      Hold any,
      Earlier earlier,
      StatusException refusal) {
    try {
      Ticket ticket = any.submit(request, handler);
      earlier.askedNanos = nanoClock.getAsLong();
      return ticket;
    } catch (StatusException e) {
      throw e.status() == Status.NOT_FOUND ? refusal : e;
    }
  }

  /** A job knows by itself where its state is. */
  private static boolean maySayThatItHasNotBegun(
      StatusException refusal, InferenceRequest request) {
    return refusal.status() == Status.INVALID_ARGUMENT
        && !(refusal.getCause() instanceof KeptByAnotherVersion)
        && request.job().isEmpty()
        && !request.sequence().map(SequenceStep::start).orElse(true);
  }

  private static InferenceRequest of(ModelVersion model, InferenceRequest request) {
    return new InferenceRequest(
        model,
        request.inputs(),
        request.outputs(),
        request.deadlineNanos(),
        request.priority(),
        request.sequence(),
        request.job(),
        request.place());
  }
}
