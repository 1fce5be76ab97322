package io.pipelane.switcher.schedule.queue;

import io.pipelane.switcher.schedule.estimate.Estimates;
import io.pipelane.switcher.schedule.estimate.RunKey;
import java.util.List;
import java.util.OptionalLong;
import java.util.function.IntToLongFunction;

/** The choice of how many of the requests that wait are worth running together. */
final class BatchSizing {
  /*
   * Let B requests stand before a lane, and let a run of n take T(n). Batches of n answer the last
   * request after about B / n runs, and each request waits for the end of its own batch: (B + n) /
   * 2 * T(n) / n on the average. So n is the size for which (B + n) * T(n) / n is least. It has to
   * be clearly less, as a batch copies its rows together and apart again, and answers its members
   * all at once.
   *
   * T(n) is the median of the latest runs. A size that has not been seen is tried, the next larger
   * only where the ones before have paid, so that a model that gains nothing by batches runs hardly
   * any. Now and then a neighbour of the best size runs in its place, so that no size is judged by
   * times of other circumstances.
   */
  private static final double CLEAR_GAIN = 0.9;

  /** Runs that somebody waits for others with begin sooner by this part of them, as they differ. */
  private static final int SPARE_PART = 4;

  /** And by this, as threads wake up late. */
  private static final long SPARE_NANOS = 1_000_000;

  /** The best size, and those before and after it that could be; the best where there is none. */
  private record Choice(int best, int smaller, int larger) {
    int on(ModelLine.Trial trial) {
      return switch (trial) {
        case NONE -> best;
        case SMALLER -> smaller;
        case LARGER -> larger;
      };
    }
  }

  private final Estimates estimates;
  private final int lanes;

  BatchSizing(Estimates estimates, int lanes) {
    this.estimates = estimates;
    this.lanes = lanes;
  }

  /**
   * How many to run together, so that all of them are in time.
   *
   * @param others that are alike, the oldest first
   * @return 1 for the first alone
   */
  int choose(QueuedRequest first, List<QueuedRequest> others, long nowNanos) {
    double backlog = Math.max(1, (1 + others.size()) / (double) lanes);
    long[] slack = new long[others.size() + 1];
    slack[0] = slackNanos(first, nowNanos);
    for (int i = 1; i < slack.length; i++) {
      slack[i] = Math.min(slack[i - 1], slackNanos(others.get(i - 1), nowNanos));
    }
    return best(first, slack.length, backlog, count -> slack[count - 1])
        .on(first.line().nextTrial());
  }

  /** How many it is worth waiting for, should they come. */
  int target(QueuedRequest first, long nowNanos) {
    long slack = slackNanos(first, nowNanos);
    return best(first, Integer.MAX_VALUE, Integer.MAX_VALUE, _ -> slack).best;
  }

  /**
   * Until when a batch may wait for more, so that all of it are in time as it is now, and those
   * that run next.
   *
   * @param behind others that are alike
   */
  long latestStartNanos(List<QueuedRequest> members, List<QueuedRequest> behind) {
    QueuedRequest first = members.getFirst();
    long alone = estimates.executionNanos(first.key());
    long run = members.size() == 1 ? alone : usualNanos(first, members.size());
    long end = Math.min(deadlineNanos(members), deadlineNanos(behind) - alone);
    return end - estimates.stallNanos(first.key()) - run - run / SPARE_PART - SPARE_NANOS;
  }

  private static long deadlineNanos(List<QueuedRequest> requests) {
    return requests.stream()
        .mapToLong(request -> request.request().deadlineNanos().orElse(Long.MAX_VALUE))
        .min()
        .orElse(Long.MAX_VALUE);
  }

  /** What a batch of some that are like one takes, as far as is known. */
  private long usualNanos(QueuedRequest first, int count) {
    RunKey together = first.key().times(count);
    return estimates.medianNanos(together) == 0
        ? count * estimates.medianNanos(first.key())
        : estimates.executionNanos(together);
  }

  /** Time that a request's run may take; its wait for weights is not part of that. */
  private long slackNanos(QueuedRequest request, long nowNanos) {
    OptionalLong deadline = request.request().deadlineNanos();
    return deadline.isEmpty()
        ? Long.MAX_VALUE
        : deadline.getAsLong() - nowNanos - estimates.stallNanos(request.key());
  }

  private Choice best(QueuedRequest first, int available, double backlog, IntToLongFunction slack) {
    long rows = first.key().rows();
    long alone = estimates.medianNanos(first.key());
    if (rows == 0 || alone == 0) {
      return new Choice(1, 1, 1);
    }
    int most = Math.min(available, first.line().largestBatch());
    int best = 1;
    int smaller = 1;
    int larger = 1;
    double least = CLEAR_GAIN * (backlog + 1) * alone;
    for (int size : first.line().batching().sizes()) {
      int count = (int) (size / rows);
      if (count < 2) {
        continue;
      }
      RunKey together = first.key().times(count);
      long known = estimates.medianNanos(together);
      if (count > most || usualNanos(first, count) > slack.applyAsLong(count)) {
        break;
      }
      double cost = (backlog + count) * known / count;
      if (cost < least) {
        smaller = best;
        best = count;
        larger = count;
        least = cost;
      } else if (larger == best) {
        larger = count;
      }
      if (known == 0 || known >= count * alone) {
        break;
      }
    }
    return new Choice(best, smaller, larger);
  }
}
