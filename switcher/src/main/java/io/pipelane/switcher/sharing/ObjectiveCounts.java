package io.pipelane.switcher.sharing;

import io.pipelane.switcher.InferenceRequest;
import io.pipelane.switcher.ResultHandler;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.LongSupplier;
import java.util.function.ToLongFunction;

/**
 * The number of a device's online requests that had to be answered by a time it could meet, and of
 * those that were. A caller may ask for whatever time he likes: one that leaves hardly more than
 * what is before the answer takes is missed on a device that is well, and tells nothing of it. Safe
 * for any thread.
 */
public final class ObjectiveCounts {
  /** So many times what a request takes at least, its caller has to leave it to be counted. */
  private static final int LEAST_TIMES = 2;

  /** And so much more, in which threads of the host may wait for a processor. */
  private static final long LEAST_MORE_NANOS = 10_000_000;

  /** The part of its owner's objective that a request's way here may have taken: one in so many. */
  private static final int PARTS_UNDER_WAY = 10;

  private final LongAdder met = new LongAdder();
  private final LongAdder missed = new LongAdder();

  /**
   * Counts an online request that has come now once it has ended here, if it has to be answered by
   * a time that its model's owner wants or that leaves room for more than its answer needs.
   *
   * @param objectiveNanos how long its model's owner lets requests take; {@link Long#MAX_VALUE} for
   *     any time
   * @param leastNanos what it takes at least until a request that comes now is answered; 0 where
   *     nothing is known
   * @param nanoClock as its deadline is
   * @return to be told the end
   */
  public ResultHandler judging(
      InferenceRequest request,
      ResultHandler handler,
      long objectiveNanos,
      ToLongFunction<InferenceRequest> leastNanos,
      LongSupplier nanoClock) {
    if (request.deadlineNanos().isEmpty()) {
      return handler;
    }
    long deadline = request.deadlineNanos().getAsLong();
    long left = deadline - nanoClock.getAsLong();
    return left >= objectiveNanos - objectiveNanos / PARTS_UNDER_WAY
            || hasRoom(left, leastNanos.applyAsLong(request))
        ? new JudgedAnswer(handler, this, deadline, nanoClock)
        : handler;
  }

  private static boolean hasRoom(long leftNanos, long leastNanos) {
    return leastNanos > 0 && (leftNanos - LEAST_MORE_NANOS) / LEAST_TIMES >= leastNanos;
  }

  void judged(boolean isMet) {
    (isMet ? met : missed).increment();
  }

  /** Since the start. */
  public Attainment.Objectives soFar() {
    long metSoFar = met.sum();
    return new Attainment.Objectives(metSoFar, metSoFar + missed.sum());
  }
}
