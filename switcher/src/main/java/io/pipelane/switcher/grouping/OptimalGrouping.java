package io.pipelane.switcher.grouping;

import io.pipelane.modelstore.Plan;
import io.pipelane.switcher.grouping.SegmentProfile.ShapeTimes;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;

/**
 * The groups that make a cold start shortest, by a structure's profile and the link. As long as the
 * structure has no profile, or the link is not known, they are groups of another kind. Safe for any
 * thread.
 */
public final class OptimalGrouping implements Grouping {
  /** Structures whose solutions are remembered; one is some tens of microseconds of work. */
  private static final int MOST_SOLUTIONS = 1_000;

  private final SegmentProfiles profiles;
  private final LinkCosts costs;
  private final Grouping otherwise;
  private final Map<String, Solved> solutions = new ConcurrentHashMap<>();

  private record Solved(ShapeTimes times, PipelineCosts costs, OptimalGroups groups) {}

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
    return solution(plan)
        .map(solution -> solution.groups(residentBytes))
        .orElseGet(() -> otherwise.groups(plan, residentBytes));
  }

  /** The best groups of a model for every resident prefix, and the stall that each leaves. */
  public Optional<OptimalGroups> solution(Plan plan) {
    return costs.known().flatMap(known -> solution(plan, known));
  }

  private Optional<OptimalGroups> solution(Plan plan, PipelineCosts known) {
    return profiles
        .of(plan.structureHash())
        .flatMap(SegmentProfile::usual)
        .filter(times -> times.segmentNanos().size() == plan.segments().size())
        .map(times -> solution(plan, times, known));
  }

  private OptimalGroups solution(Plan plan, ShapeTimes times, PipelineCosts costs) {
    Solved known = solutions.get(plan.structureHash());
    if (known != null && known.times.equals(times) && known.costs.equals(costs)) {
      return known.groups;
    }
    OptimalGroups solved = OptimalGroups.of(costs.model(plan, times.segmentNanos()));
    if (solutions.size() >= MOST_SOLUTIONS) {
      solutions.clear();
    }
    solutions.put(plan.structureHash(), new Solved(times, costs, solved));
    return solved;
  }
}
