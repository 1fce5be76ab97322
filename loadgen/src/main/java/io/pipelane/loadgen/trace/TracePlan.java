package io.pipelane.loadgen.trace;

import io.pipelane.loadgen.settings.Trace;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * A trace made ready to be replayed.
 *
 * @param batches the batches that each model is asked for, in the order of first appearance; the
 *     trace's models and variants are positions in here
 * @param meanBatch rows of a request, on the average
 */
public record TracePlan(Map<String, List<Integer>> batches, Trace trace, double meanBatch) {
  /** The most rows of a request. */
  public int largestBatch() {
    return batches.values().stream().flatMap(List::stream).mapToInt(b -> b).max().orElse(1);
  }

  /** Of the requests, those that each model gets. */
  public double[] shares() {
    double[] shares = new double[batches.size()];
    for (int request = 0; request < trace.size(); request++) {
      shares[trace.model(request)] += 1.0 / trace.size();
    }
    return shares;
  }

  /** Plans the replay of requests that are sorted by time. */
  public static TracePlan of(List<TracedRequest> requests) {
    Map<String, List<Integer>> batches = new LinkedHashMap<>();
    Map<String, Integer> positions = new LinkedHashMap<>();
    long[] offsetNanos = new long[requests.size()];
    int[] models = new int[requests.size()];
    int[] variants = new int[requests.size()];
    for (int i = 0; i < requests.size(); i++) {
      TracedRequest request = requests.get(i);
      List<Integer> known = batches.computeIfAbsent(request.model(), _ -> new ArrayList<>());
      if (!known.contains(request.batch())) {
        known.add(request.batch());
      }
      offsetNanos[i] = Math.round(request.seconds() * 1e9);
      models[i] = positions.computeIfAbsent(request.model(), _ -> positions.size());
      variants[i] = known.indexOf(request.batch());
    }
    double mean = requests.stream().mapToInt(TracedRequest::batch).average().orElse(1);
    return new TracePlan(batches, new Trace(offsetNanos, models, variants), mean);
  }
}
