package io.pipelane.switcher.grouping;

import io.pipelane.modelstore.Plan;
import io.pipelane.switcher.grouping.SegmentProfile.ShapeTimes;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/**
 * The groups that make a cold start shortest, by a structure's profile and the link. As long as the
 * structure has no profile, or the link is not known, they are groups of another kind. Safe for any
 * thread.
 */
public final class OptimalGrouping implements Grouping {
  /*
   * Groups are asked for at the begin of a transfer, which a run waits for, under the daemon's lock.
   * Solving takes some 70 us, a prefix that ends within a segment 10. So a solution serves as long
   * as segments take about what it was solved for, and remembers the groups of its prefixes.
   */
  /** Structures whose solutions are remembered. */
  private static final int MOST_SOLUTIONS = 1_000;

  /** Prefixes of a structure whose groups are remembered; they end with pages. */
  private static final int MOST_PREFIXES = 64;

  /** By how much of a run's time its segments may differ, together, from what was solved for. */
  private static final double MOST_DRIFT = 0.03;

  private final SegmentProfiles profiles;
  private final LinkCosts costs;
  private final Grouping otherwise;
  private final Map<String, Solved> solutions = new ConcurrentHashMap<>();

  private record Solved(
      List<Long> segmentNanos,
      PipelineCosts costs,
      OptimalGroups groups,
      Map<Long, List<Group>> byPrefix) {

    boolean isOf(List<Long> times, PipelineCosts costs) {
      return this.costs.equals(costs)
          && segmentNanos.size() == times.size()
          && (segmentNanos.equals(times) || isNear(times));
    }

    private boolean isNear(List<Long> times) {
      long drift = 0;
      long total = 0;
      for (int i = 0; i < times.size(); i++) {
        drift += Math.abs(times.get(i) - segmentNanos.get(i));
        total += segmentNanos.get(i);
      }
      return drift <= MOST_DRIFT * total;
    }

    List<Group> groups(long residentBytes) {
      if (byPrefix.size() >= MOST_PREFIXES) {
        byPrefix.clear();
      }
      return byPrefix.computeIfAbsent(residentBytes, groups::groups);
    }
  }

  /**
   * Chooses by what profiles say when it is asked.
   *
   * @param otherwise for structures that have none yet
   */
  public OptimalGrouping(SegmentProfiles profiles, PipelineCosts costs, Grouping otherwise) {
    this(profiles, LinkCosts.of(costs), otherwise);
  }

  /**
   * Chooses by what profiles and the link's costs say when it is asked.
   *
   * @param otherwise as long as one of them says nothing
   */
  public OptimalGrouping(SegmentProfiles profiles, LinkCosts costs, Grouping otherwise) {
    this.profiles = profiles;
    this.costs = costs;
    this.otherwise = otherwise;
  }

  @Override
  public List<Group> groups(Plan plan, long residentBytes) {
    return solved(plan)
        .map(solved -> solved.groups(residentBytes))
        .orElseGet(() -> otherwise.groups(plan, residentBytes));
  }

  /** The best groups of a model for every resident prefix, and the stall that each leaves. */
  public Optional<OptimalGroups> solution(Plan plan) {
    return solved(plan).map(Solved::groups);
  }

  private Optional<Solved> solved(Plan plan) {
    Optional<PipelineCosts> known = costs.known();
    if (known.isEmpty()) {
      return Optional.empty();
    }
    return profiles
        .of(plan.structureHash())
        .flatMap(SegmentProfile::usual)
        .map(ShapeTimes::segmentNanos)
        .filter(times -> times.size() == plan.segments().size())
        .map(times -> solved(plan, times, known.get()));
  }

  private Solved solved(Plan plan, List<Long> times, PipelineCosts costs) {
    @Nullable Solved before = solutions.get(plan.structureHash());
    if (before != null && before.isOf(times, costs)) {
      return before;
    }
    OptimalGroups groups = OptimalGroups.of(costs.model(plan, times));
    Solved solved = new Solved(times, costs, groups, new ConcurrentHashMap<>());
    if (solutions.size() >= MOST_SOLUTIONS) {
      solutions.clear();
    }
    solutions.put(plan.structureHash(), solved);
    return solved;
  }
}
