package io.pipelane.bench.grouping;

import io.pipelane.bench.report.Column;
import io.pipelane.bench.report.Results;
import io.pipelane.switcher.grouping.OptimalGroups;
import io.pipelane.switcher.grouping.PipelineModel;
import java.time.Duration;
import java.util.concurrent.Callable;
import java.util.concurrent.FutureTask;

/**
 * The rounds of {@code bench grouping}: how long groups take to be chosen for one plan after
 * another, and what they give.
 */
final class GroupingRounds {
  private static final int SEGMENTS = 32;
  private static final long LEAST_GROUP = 1 << 20;
  private static final int WARMUP = 20;
  private static final long SEARCH_STACK_BYTES = 64 << 20;

  private final int rounds;
  private final Duration limit;
  private final Results results;

  /**
   * Measures into results.
   *
   * @param limit of each search of Algorithm 1
   */
  GroupingRounds(int rounds, Duration limit, Results results) {
    this.rounds = rounds;
    this.limit = limit;
    this.results = results;
  }

  /** Measures a model by layers, and by segments. */
  void measure(String name, PipelineModel layers) throws Exception {
    measurePlan(name, layers);
    PipelineModel segments = Predictions.cut(layers, SEGMENTS);
    if (segments.segments().size() < layers.segments().size()) {
      measurePlan(name + ", segments", segments);
    }
  }

  private void measurePlan(String name, PipelineModel model) throws Exception {
    results.add(name, GroupingColumns.LAYERS, model.segments().size());
    measureOurs(name, model);
    search(name, model, GroupingColumns.ALGORITHM_1, true, true);
    search(name, model, GroupingColumns.BOUND_ONLY, true, false);
    search(name, model, GroupingColumns.DELAY_ONLY, false, true);
    search(name, model, GroupingColumns.NO_PRUNING, false, false);
    OptimalGroups optimal = OptimalGroups.of(model);
    results.add(name, GroupingColumns.GROUPS, optimal.groups(0).size());
    results.add(name, GroupingColumns.OPTIMAL, optimal.predict(0).totalNanos() / 1e6);
    results.add(name, GroupingColumns.WARM, model.warmNanos() / 1e6);
    Predictions simple = new Predictions(model);
    results.add(name, GroupingColumns.EQUAL_BYTES, simple.equalBytesMillis(SEGMENTS, LEAST_GROUP));
    results.add(name, GroupingColumns.ONE_GROUP, simple.oneGroupMillis());
    results.add(name, GroupingColumns.PER_LAYER, simple.perLayerMillis());
  }

  private void measureOurs(String name, PipelineModel model) {
    long inside = model.weightBytes() / 8 + 1;
    for (int i = -WARMUP; i < rounds; i++) {
      long begin = System.nanoTime();
      OptimalGroups solved = OptimalGroups.of(model);
      long end = System.nanoTime();
      solved.groups(inside);
      long prefix = System.nanoTime();
      if (i >= 0) {
        results.add(name, GroupingColumns.OURS_MILLIS, (end - begin) / 1e6);
        results.add(name, GroupingColumns.PREFIX_MICROS, (prefix - end) / 1e3);
      }
    }
  }

  private void search(
      String name, PipelineModel model, Column column, boolean byBound, boolean byDelay)
      throws Exception {
    PipeSwitchSearch search = new PipeSwitchSearch(model, byBound, byDelay, System::nanoTime);
    PipeSwitchSearch.Found found = onDeepStack(() -> search.search(limit));
    if (found.finished()) {
      results.add(name, column, found.time().toNanos() / 1e9);
    }
    if (byBound && byDelay) {
      long total = model.predict(found.groups()).totalNanos();
      results.add(name, GroupingColumns.SEARCHED, total / 1e6);
    }
  }

  private static <T> T onDeepStack(Callable<T> work) throws Exception {
    FutureTask<T> task = new FutureTask<>(work);
    new Thread(null, task, "search", SEARCH_STACK_BYTES).start();
    return task.get();
  }
}
