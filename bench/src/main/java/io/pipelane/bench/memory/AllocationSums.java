package io.pipelane.bench.memory;

import io.pipelane.bench.local.LocalPipelane;
import io.pipelane.bench.measure.Run;
import io.pipelane.bench.report.Results;
import io.pipelane.config.value.ByteSize;
import io.pipelane.lanes.execution.AllocationSizes;
import io.pipelane.lanes.execution.AllocationSizes.Purpose;
import io.pipelane.switcher.memory.account.Ledger;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.TreeMap;

/** The number of allocations that models make, by kind, and over all models by size. */
final class AllocationSums {
  /** A row's sizes reach four times as far as those of the row before. */
  private static final int DOUBLINGS = 2;

  private static final long LEAST_BYTES = 256;

  private static final Map<Kind, Purpose> PURPOSES =
      Map.of(
          Kind.LANES, Purpose.RUN,
          Kind.SESSIONS, Purpose.SESSION,
          Kind.FRAMEWORK, Purpose.FRAMEWORK);

  private final Results results;
  private final NavigableMap<Long, Map<Kind, Long>> bySize = new TreeMap<>();

  AllocationSums(Results results) {
    this.results = results;
  }

  /** Adds the only model of a server, which is warm. */
  void measure(LocalPipelane server, Run run, String name) throws Exception {
    AllocationSizes sizes = server.allocations();
    List<Long> before = sizes.counts(Purpose.RUN);
    run.run();
    Ledger weights = server.memory().weights();
    long pages = weights.lentBytes() / weights.pageBytes();
    add(Kind.WEIGHTS, weights.pageBytes(), pages);
    results.add(name, Kind.WEIGHTS.allocations(), (double) pages);
    PURPOSES.forEach(
        (kind, purpose) -> {
          List<Long> counts = sizes.counts(purpose);
          long sum = 0;
          for (int sizeClass = 0; sizeClass < counts.size(); sizeClass++) {
            long earlier = kind == Kind.LANES ? before.get(sizeClass) : 0;
            long count = counts.get(sizeClass) - earlier;
            add(kind, AllocationSizes.largestBytes(sizeClass), count);
            sum += count;
          }
          results.add(name, kind.allocations(), (double) sum);
        });
  }

  private void add(Kind kind, long bytes, long count) {
    if (count > 0) {
      bySize
          .computeIfAbsent(rowOf(bytes), _ -> new EnumMap<>(Kind.class))
          .merge(kind, count, Long::sum);
    }
  }

  /** The largest size in the row of a size. */
  private static long rowOf(long bytes) {
    long row = LEAST_BYTES;
    while (row < bytes) {
      row <<= DOUBLINGS;
    }
    return row;
  }

  /** Adds rows of sizes, of all models together. */
  void summarise() {
    bySize.forEach(
        (bytes, counts) -> {
          for (Kind kind : Kind.values()) {
            results.add(
                "up to " + new ByteSize(bytes), kind.allocations(), counts.getOrDefault(kind, 0L));
          }
        });
  }
}
