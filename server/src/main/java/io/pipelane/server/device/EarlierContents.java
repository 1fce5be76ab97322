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
  /** What began when its content was about to be replaced has come by then. */
  private static final long LATEST_BEGINNING_NANOS = Duration.ofMinutes(1).toNanos();

  private final Sequences sequences;
  private final LongSupplier nanoClock;

  /** By the content that answers now. */
  private final Map<ModelVersion, Earlier> contents = new ConcurrentHashMap<>();

  /** None yet. */
  EarlierContents(Sequences sequences, LongSupplier nanoClock) {
    this.sequences = sequences;
    this.nanoClock = nanoClock;
  }

  /** The sequences that contents have; at once. */
  interface Sequences {
    /** Whether a content has one that steps may come for. */
    boolean areOf(ModelVersion content);

    /** Ends the one that a step names, if a content has it. */
    void end(ModelVersion content, SequenceStep step);
  }

  private record Earlier(ModelVersion version, long sinceNanos) {}

  /** From now on a content goes on with what it has begun, beside the one that follows it. */
  void keep(ModelVersion earlier, ModelVersion latest) {
    contents.put(latest, new Earlier(earlier, nanoClock.getAsLong()));
  }

  /** Keeps none beside a content any more; answers which it was, if there was one. */
  Optional<ModelVersion> remove(ModelVersion latest) {
    return Optional.ofNullable(contents.remove(latest)).map(earlier -> earlier.version);
  }

  /** The one beside a content, if there is one. */
  Optional<ModelVersion> beside(ModelVersion latest) {
    return Optional.ofNullable(contents.get(latest)).map(earlier -> earlier.version);
  }

  /** Whether the one beside a content may have no sequence any more. */
  boolean isIdleBeside(ModelVersion latest) {
    @Nullable Earlier earlier = contents.get(latest);
    return earlier != null
        && nanoClock.getAsLong() - earlier.sinceNanos >= LATEST_BEGINNING_NANOS
        && !sequences.areOf(earlier.version);
  }

  /** The contents beside which there is one that may have no sequence any more. */
  List<ModelVersion> idle() {
    return contents.keySet().stream().filter(this::isIdleBeside).toList();
  }

  /**
   * Has a content answer, or the one before it where that has the request's sequence. A sequence
   * that begins anew ends there first, whatever becomes of its step.
   *
   * @param latest takes requests for the content that answers now
   * @param any takes requests for any content
   * @throws StatusException as these do
   */
  Ticket submit(InferenceRequest request, ResultHandler handler, Hold latest, Hold any) {
    endWhereItBeginsAnew(request);
    try {
      return latest.submit(request, handler);
    } catch (StatusException e) {
      @Nullable Earlier earlier = contents.get(request.model());
      if (earlier == null || !maySayThatItHasNotBegun(e, request)) {
        throw e;
      }
      return submit(of(earlier.version, request), handler, any, e);
    }
  }

  private void endWhereItBeginsAnew(InferenceRequest request) {
    @Nullable Earlier earlier = contents.get(request.model());
    if (earlier != null) {
      request
          .sequence()
          .filter(SequenceStep::start)
          .ifPresent(step -> sequences.end(earlier.version, step));
    }
  }

  private static Ticket submit(
      InferenceRequest request, ResultHandler handler, Hold any, StatusException refusal) {
    try {
      return any.submit(request, handler);
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
        request.deadline(),
        request.priority(),
        request.sequence(),
        request.job(),
        request.place());
  }
}
