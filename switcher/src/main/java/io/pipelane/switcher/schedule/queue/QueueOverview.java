package io.pipelane.switcher.schedule.queue;

import io.pipelane.modelstore.ModelVersion;
import java.util.Map;

/**
 * The requests that wait for lanes, and what has become of requests before they ran, since the
 * start.
 *
 * @param requests that wait
 * @param bytes of their inputs
 * @param byModel how many of them each model has; none without any
 * @param refusedLate requests that could not have been answered in time
 * @param refusedFull requests for which the queue, or that of their model, had no room
 * @param batches runs that answered several requests
 * @param batchedRequests requests that such runs have answered
 * @param failedBatches of the runs, those whose requests had to run alone again
 */
public record QueueOverview(
    int requests,
    long bytes,
    Map<ModelVersion, Integer> byModel,
    long refusedLate,
    long refusedFull,
    long batches,
    long batchedRequests,
    long failedBatches) {
  public QueueOverview {
    byModel = Map.copyOf(byModel);
  }
}
