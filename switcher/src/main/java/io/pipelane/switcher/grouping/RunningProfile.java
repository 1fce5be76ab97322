package io.pipelane.switcher.grouping;

import io.pipelane.switcher.grouping.SegmentProfile.ShapeTimes;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;

/** One structure's running means, and what of them is published. Safe for any thread. */
final class RunningProfile {
  /*
   * The monitor guards the means. They are published when they have moved far enough to choose
   * other groups for: groups once chosen then serve many transfers. Choosing costs more than a
   * short run, and short runs vary most: so publications come further and further apart, by runs.
   *
   * Counting a run costs 40 to 90 us where runs go through more memory than caches hold, as what is
   * done so seldom is hardly compiled. That is 1 to 2 % of a run of 4 ms, so what is known well is
   * looked at less often.
   */
  private static final long YOUNG_NANOS_BETWEEN = 1_000_000;
  private static final long OLD_NANOS_BETWEEN = 100_000_000;
  private static final int YOUNG_RUNS = 100;
  private static final int MOST_SHAPES = 8;
  private static final double NEWEST_SHARE = 0.125;
  private static final double FAR = 0.1;
  private static final int MOST_RUNS_BETWEEN = 200;
  private static final double CLEARLY_MORE = 2;
  private static final Comparator<Means> BY_WEIGHT = Comparator.comparingDouble(m -> m.weight);

  private final List<Means> means = new ArrayList<>();
  private final AtomicLong lastDueNanos = new AtomicLong(Long.MIN_VALUE / 2);
  private volatile SegmentProfile published;
  private volatile long runs; // written under the monitor
  private long nextPublication;

  /** The means of one combination of shapes. */
  private static final class Means {
    private final String shapes;
    private final double[] nanos;
    private double weight;
    private int runs;

    Means(String shapes, int segments) {
      this.shapes = shapes;
      nanos = new double[segments];
    }

    Means(ShapeTimes kept) {
      this(kept.shapes(), kept.segmentNanos().size());
      Arrays.setAll(nanos, i -> kept.segmentNanos().get(i));
      weight = kept.weight();
      runs = (int) (1 / NEWEST_SHARE);
    }

    /** The first run loads libraries and fills caches: the second takes its place. */
    void add(long[] run) {
      double share = runs < 2 ? 1 : Math.max(NEWEST_SHARE, 1.0 / runs);
      runs++;
      for (int i = 0; i < nanos.length; i++) {
        nanos[i] += share * (run[i] - nanos[i]);
      }
    }

    ShapeTimes times() {
      return new ShapeTimes(shapes, Arrays.stream(nanos).mapToObj(Math::round).toList(), weight);
    }

    boolean isFarFrom(ShapeTimes known) {
      double distance = 0;
      double total = 0;
      for (int i = 0; i < nanos.length; i++) {
        distance += Math.abs(nanos[i] - known.segmentNanos().get(i));
        total += known.segmentNanos().get(i);
      }
      return distance > FAR * total;
    }
  }

  /** Goes on from what was known. */
  RunningProfile(SegmentProfile kept) {
    published = kept;
    kept.shapes().forEach(times -> means.add(new Means(times)));
  }

  /** Whether the last run that was due is long enough ago; then this one is the last. */
  boolean isDue(long nowNanos) {
    long last = lastDueNanos.get();
    long between = runs < YOUNG_RUNS ? YOUNG_NANOS_BETWEEN : OLD_NANOS_BETWEEN;
    return nowNanos - last >= between && lastDueNanos.compareAndSet(last, nowNanos);
  }

  /** What was published last. */
  SegmentProfile published() {
    return published;
  }

  /**
   * Counts a run.
   *
   * @return whether another profile is published now
   */
  synchronized boolean observed(String shapes, long[] segmentNanos) {
    if (means.stream().anyMatch(known -> known.nanos.length != segmentNanos.length)) {
      means.clear(); // Those of a structure that was cut otherwise.
    }
    means.forEach(known -> known.weight *= 1 - NEWEST_SHARE);
    Means mine = of(shapes, segmentNanos.length);
    mine.weight += NEWEST_SHARE;
    mine.add(segmentNanos);
    runs++;
    if (runs < nextPublication || !isWorthPublishing(mine)) {
      return false;
    }
    nextPublication = runs + Math.min(runs, MOST_RUNS_BETWEEN);
    published =
        new SegmentProfile(published.structure(), means.stream().map(Means::times).toList());
    return true;
  }

  private Means of(String shapes, int segments) {
    for (Means known : means) {
      if (known.shapes.equals(shapes)) {
        return known;
      }
    }
    if (means.size() == MOST_SHAPES) {
      means.remove(means.stream().min(BY_WEIGHT).orElseThrow());
    }
    Means added = new Means(shapes, segments);
    means.add(added);
    return added;
  }

  private boolean isWorthPublishing(Means changed) {
    List<ShapeTimes> known = published.shapes();
    int segments = changed.nanos.length;
    if (known.isEmpty() || known.getFirst().segmentNanos().size() != segments) {
      return true;
    }
    String usual = published.usualShapes();
    double usualWeight =
        means.stream().filter(m -> m.shapes.equals(usual)).mapToDouble(m -> m.weight).sum();
    boolean isUsual = changed.shapes.equals(usual);
    if (!isUsual) {
      return changed.weight > CLEARLY_MORE * usualWeight;
    }
    return known.stream()
        .filter(times -> times.shapes().equals(usual))
        .anyMatch(changed::isFarFrom);
  }
}
