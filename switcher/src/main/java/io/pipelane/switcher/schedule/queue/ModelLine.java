package io.pipelane.switcher.schedule.queue;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.config.value.ByteSize;
import io.pipelane.modelstore.ModelVersion;
import io.pipelane.modelstore.repository.ModelOptions.Priority;
import java.time.Duration;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * One model's line of waiting requests, within its owner's bounds. Guarded by the queue's lock, but
 * for the bound of its batches, which any thread lowers, and where it says so.
 */
final class ModelLine {
  /** Trials are to cost next to nothing, and to tell within a second or so of load what pays. */
  private static final int CHOICES_A_TRIAL = 64;

  /** So many choices after a batch was too large one of twice the bound may be tried again. */
  private static final int CHOICES_BEFORE_LARGER = 16 * CHOICES_A_TRIAL;

  /** A size that is run to learn its time: a neighbour of the best, or none. */
  enum Trial {
    NONE,
    SMALLER,
    LARGER
  }

  private final ModelVersion model;
  private final AnswersInOrder onlineAnswers = new AnswersInOrder();
  private final AnswersInOrder offlineAnswers = new AnswersInOrder();
  private volatile Terms terms = Terms.DEFAULT;
  private Occupancy.Bounds bounds = bounds(terms);
  private final Occupancy waiting;
  private final Set<QueuedRequest> offline = new LinkedHashSet<>();
  private volatile boolean leaving;
  private final AtomicInteger largestBatch = new AtomicInteger(Integer.MAX_VALUE);
  private int choices;
  private int choicesSinceGrowth;

  ModelLine(ModelVersion model) {
    this.model = model;
    this.waiting = new Occupancy("the queue of model " + model);
  }

  void agreeOn(Terms newTerms) {
    terms = newTerms;
    bounds = bounds(newTerms);
    largestBatch.set(Integer.MAX_VALUE);
  }

  BatchRules batching() {
    return terms.batching();
  }

  /**
   * Where answers wait for those before them in their class: of two classes either may be kept
   * waiting for the other's end.
   */
  AnswersInOrder answers(Priority priority) {
    return switch (priority) {
      case ONLINE -> onlineAnswers;
      case OFFLINE -> offlineAnswers;
    };
  }

  /** The longest that one may wait for its turn; empty where it may for however long. */
  Optional<Duration> queueTimeout() {
    return terms.limits().queueTimeout();
  }

  /** What its weights take on the device. */
  long weightBytes() {
    return terms.weightBytes();
  }

  /** Requests in line. */
  int requests() {
    return waiting.requests();
  }

  /**
   * Lets a request in.
   *
   * @throws StatusException {@link Status#UNAVAILABLE} when too much of its model waits already,
   *     {@link Status#TOO_LARGE} for one that is too much alone, {@link Status#NOT_FOUND} for an
   *     offline one of a model that leaves
   */
  void admit(QueuedRequest request) {
    if (leaving && isOffline(request)) {
      throw notInService();
    }
    waiting.requireRoom(request, bounds);
    if (isOffline(request)) {
      offline.add(request);
    }
    waiting.entered(request);
  }

  private static Occupancy.Bounds bounds(Terms terms) {
    return new Occupancy.Bounds(
        terms.limits().queuedRequests().orElse(Integer.MAX_VALUE),
        "limits.queued-requests (Triton's max_queue_size)",
        terms.limits().queuedSize().map(ByteSize::bytes).orElse(Long.MAX_VALUE),
        "limits.queued-size");
  }

  private static boolean isOffline(QueuedRequest request) {
    return request.request().priority() == Priority.OFFLINE;
  }

  void left(QueuedRequest request) {
    waiting.left(request);
    if (isOffline(request)) {
      offline.remove(request);
    }
  }

  /**
   * Takes no more offline requests, nor has those that run go on.
   *
   * @return those that wait
   */
  List<QueuedRequest> leave() {
    leaving = true;
    return List.copyOf(offline);
  }

  /** Whether its model leaves service; for any thread. */
  boolean isLeaving() {
    return leaving;
  }

  private StatusException notInService() {
    return new StatusException(Status.NOT_FOUND, "model " + model + " is not in service");
  }

  /**
   * Why offline requests end that were taken before it left: it may leave as its content is
   * replaced, or as another version comes, and whoever asks again is answered by that, or told that
   * there is none.
   */
  StatusException leaves() {
    return StatusException.unavailable(
        "model %s leaves service, and runs no more offline requests; ask again for what follows it"
            .formatted(model));
  }

  /** Which size of batch the next choice is to be of. */
  Trial nextTrial() {
    if (++choicesSinceGrowth >= CHOICES_BEFORE_LARGER) {
      choicesSinceGrowth = 0;
      int _ = largestBatch.updateAndGet(most -> (int) Math.min(2L * most, Integer.MAX_VALUE));
    }
    choices = (choices + 1) % (2 * CHOICES_A_TRIAL);
    return switch (choices) {
      case 0 -> Trial.SMALLER;
      case CHOICES_A_TRIAL -> Trial.LARGER;
      default -> Trial.NONE;
    };
  }

  /** The largest batch that may be tried; one of more has lately failed for want of memory. */
  int largestBatch() {
    return largestBatch.get();
  }

  /** A batch was too large, or memory short for a while: half of it is the most, until it grows. */
  void outgrown(int batch) {
    int _ = largestBatch.updateAndGet(most -> Math.min(most, Math.max(1, batch / 2)));
  }
}
