package io.pipelane.server.statistics;

import io.pipelane.config.Status;
import io.pipelane.modelstore.ModelVersion;
import io.pipelane.switcher.InferenceTimings;
import java.util.Comparator;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalDouble;
import org.jspecify.annotations.Nullable;

/**
 * The counters of requests for one model version, by what became of them and where their time went.
 * Safe for any thread.
 */
public final class ModelCounters {
  /*
   * Everything is guarded by the monitor, and lies together. A request counts in some twenty
   * places. As adders these would be as many atomic steps, and cache lines that runs of a large
   * model have pushed out. What is given out is a copy.
   */

  /** The reason why a request failed, as the metrics name it. */
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
        case DEVICE_FAILURE, INTERNAL -> BACKEND;
        case UNIMPLEMENTED -> OTHER;
      };
    }
  }

  /** The outcome of a request that had to be answered by a time, its caller's or its model's. */
  public enum Objective {
    /** It was answered in time. */
    MET,
    /** It was answered, too late. */
    MISSED,
    /** It was told that it would not be answered in time, or not now. */
    REFUSED,
    /** It was admitted and failed, or nobody wanted it any more and its time had passed. */
    FAILED
  }

  /** A count of events and the time they took together. */
  public record Total(long count, long nanos) {}

  /** More sizes than this are counted among all runs, and not by themselves. */
  private static final int BATCH_SIZES = 256;

  private final ModelVersion version;
  private final Map<Long, BatchCounters> batches = new HashMap<>();
  private final Map<Failure, Long> failed = new EnumMap<>(Failure.class);
  private final Map<Objective, Long> objectives = new EnumMap<>(Objective.class);
  private final DurationBuckets durations = new DurationBuckets();
  private final DurationBuckets stallDurations = new DurationBuckets();
  private long begun;
  private long succeeded;
  private long successNanos;
  private long failureNanos;
  private long decodeNanos;
  private long queueNanos;
  private long executeNanos;
  private long encodeNanos;
  private long inferences;
  private long executions;
  private long stalls;
  private long stallNanos;
  private long lastInferenceMillis;

  ModelCounters(ModelVersion version) {
    this.version = version;
  }

  synchronized void begin() {
    begun++;
  }

  /** A request has begun again for another version: it never was this one's. */
  synchronized void withdrawn() {
    begun--;
  }

  /**
   * A request has run, whatever becomes of its answer.
   *
   * @param rows of the request; those that run together have as many each
   */
  synchronized void ran(InferenceTimings timings, long rows) {
    if (timings.place() == 0) {
      executions++;
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

  synchronized void succeeded(
      long nanos, long decode, InferenceTimings timings, long encode, long rows) {
    succeeded++;
    inferences += rows;
    successNanos += nanos;
    decodeNanos += decode;
    queueNanos += timings.queueNanos();
    executeNanos += timings.executeNanos();
    encodeNanos += encode;
    durations.add(nanos);
    BatchCounters batch = batch(rows * timings.batch());
    if (batch != null) {
      batch.answered(decode, encode);
    }
    if (timings.stallNanos() > 0) {
      stalls++;
      stallNanos += timings.stallNanos();
      stallDurations.add(timings.stallNanos());
    }
    lastInferenceMillis = System.currentTimeMillis();
  }

  synchronized void failed(Status status, long nanos) {
    failed.merge(Failure.of(status), 1L, Long::sum);
    failureNanos += nanos;
  }

  synchronized void objective(Objective outcome) {
    objectives.merge(outcome, 1L, Long::sum);
  }

  /** Requests that had to be answered by a time, by what became of them. */
  public synchronized long objectives(Objective outcome) {
    return objectives.getOrDefault(outcome, 0L);
  }

  /** Requests answered in time, or whose caller waits for as long as it takes. */
  public synchronized long answeredInTime() {
    return Math.max(0, succeeded - objectives(Objective.MISSED));
  }

  /** Of the requests with a time that were not refused, the share that was answered in time. */
  public synchronized OptionalDouble attainment() {
    long met = objectives(Objective.MET);
    long admitted = met + objectives(Objective.MISSED) + objectives(Objective.FAILED);
    return admitted == 0 ? OptionalDouble.empty() : OptionalDouble.of(met / (double) admitted);
  }

  /** Runs, each of one request or of several together, whether they were answered or not. */
  public synchronized long executions() {
    return executions;
  }

  /** Rows of the requests answered; a request without a batch axis is one. */
  public synchronized long inferences() {
    return inferences;
  }

  /** The runs by their batch size, ascending; those of the sizes that came first. */
  public synchronized List<BatchCounters> batches() {
    return batches.values().stream()
        .map(BatchCounters::copy)
        .sorted(Comparator.comparingLong(BatchCounters::size))
        .toList();
  }

  public ModelVersion version() {
    return version;
  }

  /** Whether a request has begun, however it may end. */
  public synchronized boolean hasBeenAsked() {
    return begun > 0;
  }

  /** Requests answered, from the beginning of their decoding to the end of their encoding. */
  public synchronized Total success() {
    return new Total(succeeded, successNanos);
  }

  public synchronized Total failure() {
    return new Total(failed.values().stream().mapToLong(Long::longValue).sum(), failureNanos);
  }

  public synchronized long failures(Failure reason) {
    return failed.getOrDefault(reason, 0L);
  }

  /** Requests that have begun and not ended. */
  public synchronized long pending() {
    return Math.max(0, begun - succeeded - failure().count());
  }

  /** Decoding of the requests answered. */
  public synchronized Total decode() {
    return new Total(succeeded, decodeNanos);
  }

  /** Their waiting for a lane. */
  public synchronized Total queue() {
    return new Total(succeeded, queueNanos);
  }

  /** Their runs, stalls included. */
  public synchronized Total execute() {
    return new Total(succeeded, executeNanos);
  }

  /** Handing over and encoding of their outputs. */
  public synchronized Total encode() {
    return new Total(succeeded, encodeNanos);
  }

  /** Runs that waited for weights, and how long. */
  public synchronized Total stall() {
    return new Total(stalls, stallNanos);
  }

  /** How long answered requests took, by size. */
  public synchronized DurationBuckets durations() {
    return durations.copy();
  }

  /** How long runs waited for weights, of those that did. */
  public synchronized DurationBuckets stallDurations() {
    return stallDurations.copy();
  }

  /** When the last request was answered, in milliseconds since the epoch; 0 for never. */
  public synchronized long lastInferenceMillis() {
    return lastInferenceMillis;
  }
}
