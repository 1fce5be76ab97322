package io.pipelane.switcher.schedule;

import io.pipelane.config.ByteSize;
import io.pipelane.config.StatusException;
import io.pipelane.modelstore.ModelVersion;
import io.pipelane.modelstore.repository.ModelOptions.Priority;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * What waits of one model, within its owner's bounds. Guarded by the queue's lock, but for the
 * bound of its batches, which any thread lowers.
 */
final class ModelLine {
  private static final Duration RETRY_AFTER = Duration.ofSeconds(1);

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
  private int requests;
  private long bytes;
  private final AtomicInteger largestBatch = new AtomicInteger(Integer.MAX_VALUE);
  private int choices;
  private int choicesSinceGrowth;

  ModelLine(ModelVersion model) {
    this.model = model;
  }

  void agreeOn(Terms newTerms) {
    terms = newTerms;
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

  /** What its weights take on the device. */
  long weightBytes() {
    return terms.weightBytes();
  }

  /** Requests in line. */
  int requests() {
    return requests;
  }

  /**
   * Lets a request in.
   *
   * @throws StatusException {@link io.pipelane.config.Status#UNAVAILABLE} when too much of its
   *     model waits already
   */
  void admit(QueuedRequest request) {
    int mostRequests = terms.limits().queuedRequests().orElse(Integer.MAX_VALUE);
    if (requests >= mostRequests) {
      throw full("limits.queued-requests is " + mostRequests);
    }
    Optional<ByteSize> most = terms.limits().queuedSize();
    if (most.isPresent() && bytes + request.inputBytes() > most.get().bytes()) {
      throw full(
          "it holds %s, the request has %s, limits.queued-size is %s"
              .formatted(new ByteSize(bytes), new ByteSize(request.inputBytes()), most.get()));
    }
    requests++;
    bytes += request.inputBytes();
  }

  private StatusException full(String reason) {
    return StatusException.unavailable(
        "the queue of model %s is full: %s".formatted(model, reason), RETRY_AFTER);
  }

  void left(QueuedRequest request) {
    requests--;
    bytes -= request.inputBytes();
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
