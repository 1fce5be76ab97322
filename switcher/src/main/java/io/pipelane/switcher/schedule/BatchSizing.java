package io.pipelane.switcher.schedule;

import java.util.List;
import java.util.OptionalLong;
import java.util.function.IntToLongFunction;

/** How many of the requests that wait are worth running together. */
final class BatchSizing {
  /*
   * With B requests before a lane and T(n) for a run of n, batches of n answer the last of them after
   * about B / n runs, and each waits for the end of its own: (B + n) / 2 * T(n) / n on the average.
   * So n is the size for which (B + n) * T(n) / n is least. T(n) is the best time seen. A size that
   * has not been seen is tried, the next larger only where the ones before have paid, so that a
   * model that gains nothing by batches runs hardly any.
   */
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
    return best(first, slack.length, backlog, count -> slack[count - 1]);
  }

  /** How many it is worth waiting for, should they come. */
  int target(QueuedRequest first, long nowNanos) {
    long slack = slackNanos(first, nowNanos);
    return best(first, Integer.MAX_VALUE, Integer.MAX_VALUE, _ -> slack);
  }

  /** Time that a request's run may take; its wait for weights is not part of that. */
  private long slackNanos(QueuedRequest request, long nowNanos) {
    OptionalLong deadline = request.request().deadlineNanos();
    return deadline.isEmpty()
        ? Long.MAX_VALUE
        : deadline.getAsLong() - nowNanos - estimates.stallNanos(request.key());
  }

  private int best(QueuedRequest first, int available, double backlog, IntToLongFunction slack) {
    long rows = first.key().rows();
    long alone = estimates.leastNanos(first.key());
    if (rows == 0 || alone == 0) {
      return 1;
    }
    int most = Math.min(available, first.line().largestBatch());
    int best = 1;
    double least = (backlog + 1) * alone;
    for (int size : first.line().batching().sizes()) {
      int count = (int) (size / rows);
      if (count < 2) {
        continue;
      }
      RunKey together = first.key().times(count);
      long known = estimates.leastNanos(together);
      long usual = known == 0 ? count * alone : estimates.executionNanos(together);
      if (count > most || usual > slack.applyAsLong(count)) {
        break;
      }
      double cost = (backlog + count) * known / count;
      if (cost < least) {
        best = count;
        least = cost;
      }
      if (known == 0 || known >= count * alone) {
        break;
      }
    }
    return best;
  }
}
