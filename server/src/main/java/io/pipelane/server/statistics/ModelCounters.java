package io.pipelane.server.statistics;

import io.pipelane.config.Status;
import io.pipelane.modelstore.ModelVersion;
import io.pipelane.switcher.InferenceTimings;
import java.util.Comparator;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.OptionalDouble;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.LongAdder;
import org.jspecify.annotations.Nullable;

/** What became of the requests for one model version, and where their time went. */
public final class ModelCounters {
  /*
   * Adders rather than a lock: event loops and lanes' threads write without meeting each other. A
   * reader may see a request in one count and not yet in another.
   */

  /** Why a request failed, as the metrics name it. */
  public enum Failure {
    REJECTED,
    CANCELED,
    BACKEND,
    OTHER;

    static Failure of(Status status) {
      return switch (status) {
        case INVALID_ARGUMENT,
            UNAUTHENTICATED,
            PERMISSION_DENIED,
            RATE_LIMITED,
            NOT_FOUND,
            TOO_LARGE,
            UNAVAILABLE,
            INSUFFICIENT_MEMORY ->
            REJECTED;
        case CANCELLED, DEADLINE_EXCEEDED -> CANCELED;
        case DEVICE_FAILURE -> BACKEND;
        case UNIMPLEMENTED, INTERNAL -> OTHER;
      };
    }
  }

  /** What became of a request that had to be answered by a time, its caller's or its model's. */
  public enum Objective {
    /** It was answered in time. */
    MET,
    /** It was answered, too late. */
    MISSED,
    /** It was told at once that it would not be answered in time, or not at all. */
    REFUSED,
    /** It was admitted and failed. */
    FAILED
  }

  /** A count of events and the time they took together. */
  public record Total(long count, long nanos) {}

  /** More sizes than this are counted among all runs, and not by themselves. */
  private static final int BATCH_SIZES = 256;

  private final ModelVersion version;
  private final LongAdder begun = new LongAdder();
  private final LongAdder succeeded = new LongAdder();
  private final LongAdder successNanos = new LongAdder();
  private final LongAdder failureNanos = new LongAdder();
  private final LongAdder decodeNanos = new LongAdder();
  private final LongAdder queueNanos = new LongAdder();
  private final LongAdder executeNanos = new LongAdder();
  private final LongAdder encodeNanos = new LongAdder();
  private final LongAdder inferences = new LongAdder();
  private final LongAdder executions = new LongAdder();
  private final Map<Long, BatchCounters> batches = new ConcurrentHashMap<>();
  private final LongAdder stalls = new LongAdder();
  private final LongAdder stallNanos = new LongAdder();
  private final Map<Failure, LongAdder> failed = new EnumMap<>(Failure.class);
  private final Map<Objective, LongAdder> objectives = new EnumMap<>(Objective.class);
  private final DurationBuckets durations = new DurationBuckets();
  private final DurationBuckets stallDurations = new DurationBuckets();
  private volatile long lastInferenceMillis;

  ModelCounters(ModelVersion version) {
    this.version = version;
    for (Failure reason : Failure.values()) {
      failed.put(reason, new LongAdder());
    }
    for (Objective outcome : Objective.values()) {
      objectives.put(outcome, new LongAdder());
    }
  }

  void begin() {
    begun.increment();
  }

  /** A request has begun again for another version: it never was this one's. */
  void withdrawn() {
    begun.decrement();
  }

  /**
   * A request has run, whatever becomes of its answer.
   *
   * @param rows of the request; those that run together have as many each
   */
  void ran(InferenceTimings timings, long rows) {
    if (timings.place() == 0) {
      executions.increment();
      BatchCounters batch = batch(rows * timings.batch());
      if (batch != null) {
        batch.ran(timings.executeNanos());
      }
    }
  }

  private @Nullable BatchCounters batch(long size) {
    BatchCounters known = batches.get(size);
    return known != null || batches.size() >= BATCH_SIZES
        ? known
        : batches.computeIfAbsent(size, BatchCounters::new);
  }

  void succeeded(long nanos, long decode, InferenceTimings timings, long encode, long rows) {
    succeeded.increment();
    inferences.add(rows);
    successNanos.add(nanos);
    decodeNanos.add(decode);
    queueNanos.add(timings.queueNanos());
    executeNanos.add(timings.executeNanos());
    encodeNanos.add(encode);
    durations.add(nanos);
    BatchCounters batch = batch(rows * timings.batch());
    if (batch != null) {
      batch.answered(decode, encode);
    }
    if (timings.stallNanos() > 0) {
      stalls.increment();
      stallNanos.add(timings.stallNanos());
      stallDurations.add(timings.stallNanos());
    }
    lastInferenceMillis = System.currentTimeMillis();
  }

  void failed(Status status, long nanos) {
    adder(Failure.of(status)).increment();
    failureNanos.add(nanos);
  }

  void objective(Objective outcome) {
    Objects.requireNonNull(objectives.get(outcome)).increment();
  }

  /** Requests that had to be answered by a time, by what became of them. */
  public long objectives(Objective outcome) {
    return Objects.requireNonNull(objectives.get(outcome)).sum();
  }

  /** Requests answered in time, or whose caller waits for as long as it takes. */
  public long answeredInTime() {
    return Math.max(0, succeeded.sum() - objectives(Objective.MISSED));
  }

  /** Of the requests with a time that were not refused, the share that was answered in time. */
  public OptionalDouble attainment() {
    long met = objectives(Objective.MET);
    long admitted = met + objectives(Objective.MISSED) + objectives(Objective.FAILED);
    return admitted == 0 ? OptionalDouble.empty() : OptionalDouble.of(met / (double) admitted);
  }

  /** Runs, each of one request or of several together, whether they were answered or not. */
  public long executions() {
    return executions.sum();
  }

  /** Rows of the requests answered; a request without a batch axis is one. */
  public long inferences() {
    return inferences.sum();
  }

  /** The runs by their batch size, ascending; those of the sizes that came first. */
  public List<BatchCounters> batches() {
    return batches.values().stream().sorted(Comparator.comparingLong(BatchCounters::size)).toList();
  }

  public ModelVersion version() {
    return version;
  }

  /** Requests answered, from the beginning of their decoding to the end of their encoding. */
  public Total success() {
    return new Total(succeeded.sum(), successNanos.sum());
  }

  public Total failure() {
    long count = 0;
    for (LongAdder adder : failed.values()) {
      count += adder.sum();
    }
    return new Total(count, failureNanos.sum());
  }

  public long failures(Failure reason) {
    return adder(reason).sum();
  }

  private LongAdder adder(Failure reason) {
    return Objects.requireNonNull(failed.get(reason));
  }

  /** Requests that have begun and not ended. */
  public long pending() {
    return Math.max(0, begun.sum() - succeeded.sum() - failure().count());
  }

  /** Decoding of the requests answered. */
  public Total decode() {
    return new Total(succeeded.sum(), decodeNanos.sum());
  }

  /** Their waiting for a lane. */
  public Total queue() {
    return new Total(succeeded.sum(), queueNanos.sum());
  }

  /** Their runs, stalls included. */
  public Total execute() {
    return new Total(succeeded.sum(), executeNanos.sum());
  }

  /** Handing over and encoding of their outputs. */
  public Total encode() {
    return new Total(succeeded.sum(), encodeNanos.sum());
  }

  /** Runs that waited for weights, and how long. */
  public Total stall() {
    return new Total(stalls.sum(), stallNanos.sum());
  }

  /** How long answered requests took, by size. */
  public DurationBuckets durations() {
    return durations;
  }

  /** How long runs waited for weights, of those that did. */
  public DurationBuckets stallDurations() {
    return stallDurations;
  }

  /** When the last request was answered, in milliseconds since the epoch; 0 for never. */
  public long lastInferenceMillis() {
    return lastInferenceMillis;
  }
}
