package io.pipelane.switcher.grouping;

import io.pipelane.switcher.grouping.Grouping.Group;
import io.pipelane.switcher.grouping.PipelineModel.Prediction;
import io.pipelane.switcher.grouping.PipelineModel.Segment;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The groups that make a cold start shortest, for any resident prefix: the best of all {@code
 * 2^(n-1)} groupings of n segments, exactly (PipeSwitch §4.2 searches for the same).
 *
 * <p>Immutable. Solved once in O(n² g), g being the number of groups worth having; a prefix then
 * costs O(n g).
 */
public final class OptimalGroups {
  /*
   * A run ends when the last of all chains of events ends: for each group, it arrives, and all that
   * is not before it computes. With w for the wait of a group and k groups from p on, the end is
   *
   *   max(computed before p + E(p) + k w,  begin of the copies + V(p, k))
   *   V(p, k) = min over j: T(p, j) + max(E(p) + k w, V(j + 1, k - 1))
   *
   * where E(p) computes from p to the end, and T(p, j) copies the group of p to j. V does not depend
   * on what was before p, so one solution serves all prefixes. Of a place's solutions those are kept
   * that no other one beats with fewer groups and no later end: a Pareto front, in k and V.
   *
   * Segments without weights wait for nothing; they are added to the one before them.
   */
  private final PipelineModel model;
  private final long headNanos;
  private final long[] begins;
  private final long[] ends;
  private final long[] restNanos;
  private final List<List<Solution>> fronts = new ArrayList<>();

  /**
   * A way to go on from one place to the end.
   *
   * @param groups how many it has
   * @param nanos V, from the first copy's begin
   * @param end the last byte of its first group
   * @param rest what comes behind that group; null at the end of the model
   */
  private record Solution(int groups, long nanos, long end, @Nullable Solution rest) {}

  private OptimalGroups(PipelineModel model) {
    this.model = model;
    List<Segment> weighted = new ArrayList<>();
    long head = 0;
    for (Segment segment : model.segments()) {
      if (segment.bytes() > 0) {
        weighted.add(segment);
      } else if (weighted.isEmpty()) {
        head += segment.executionNanos();
      } else {
        Segment last = weighted.removeLast();
        weighted.add(new Segment(last.bytes(), last.executionNanos() + segment.executionNanos()));
      }
    }
    int count = weighted.size();
    headNanos = head;
    begins = new long[count];
    ends = new long[count];
    restNanos = new long[count + 1];
    long end = 0;
    for (int i = 0; i < count; i++) {
      begins[i] = end;
      end += weighted.get(i).bytes();
      ends[i] = end;
    }
    fronts.addAll(Collections.nCopies(count, List.of()));
    for (int i = count - 1; i >= 0; i--) {
      restNanos[i] = restNanos[i + 1] + weighted.get(i).executionNanos();
      fronts.set(i, solve(i, begins[i]));
    }
  }

  /** Solves for a model, and every prefix of it. */
  public static OptimalGroups of(PipelineModel model) {
    return new OptimalGroups(model);
  }

  /**
   * The solutions for what begins at a byte of a segment.
   *
   * @param begin of the first group, inside that segment
   */
  private List<Solution> solve(int place, long begin) {
    int last = ends.length - 1;
    long wait = model.waitNanos();
    // By number of groups; three at least, so that one and two need no care below.
    @Nullable Solution[] best = new Solution[Math.max(3, ends.length - place + 1)];
    long whole = model.link().copyNanos(ends[last] - begin) + restNanos[place] + wait;
    best[1] = new Solution(1, whole, ends[last], null);
    long bound = whole;
    for (int end = place; end < last; end++) {
      long copy = model.link().copyNanos(ends[end] - begin);
      if (copy + restNanos[place] + 2 * wait >= bound) {
        break; // A longer first group arrives no earlier, and fewer groups than two are known.
      }
      for (Solution rest : fronts.get(end + 1)) {
        int groups = rest.groups + 1;
        long nanos = copy + Math.max(restNanos[place] + groups * wait, rest.nanos);
        Solution known = best[groups];
        if (known == null || nanos < known.nanos) {
          best[groups] = new Solution(groups, nanos, ends[end], rest);
        }
      }
      Solution two = best[2];
      bound = two == null ? bound : Math.min(bound, two.nanos);
    }
    return undominated(best);
  }

  private static List<Solution> undominated(@Nullable Solution[] best) {
    List<Solution> front = new ArrayList<>();
    for (Solution solution : best) {
      if (solution != null && (front.isEmpty() || solution.nanos < front.getLast().nanos)) {
        front.add(solution);
      }
    }
    return List.copyOf(front);
  }

  /**
   * The best groups for what is missing.
   *
   * @param residentBytes the leading bytes that are on the device
   * @return groups in order, together exactly what is missing
   */
  public List<Group> groups(long residentBytes) {
    List<Group> groups = new ArrayList<>();
    long begin = residentBytes;
    for (Solution next = best(residentBytes); next != null; next = next.rest) {
      groups.add(new Group(begin, next.end));
      begin = next.end;
    }
    return List.copyOf(groups);
  }

  /** How long a run takes for which these groups begin with it. */
  public Prediction predict(long residentBytes) {
    Solution best = best(residentBytes);
    return new Prediction(best == null ? warmNanos() : totalNanos(best), warmNanos());
  }

  /**
   * The solution that ends first, of several the one of fewest groups; null if nothing is missing.
   */
  private @Nullable Solution best(long residentBytes) {
    int place = 0;
    while (place < ends.length && ends[place] <= residentBytes) {
      place++;
    }
    if (place == ends.length) {
      return null;
    }
    boolean whole = residentBytes == begins[place];
    List<Solution> front = whole ? fronts.get(place) : solve(place, residentBytes);
    return Collections.min(front, Comparator.comparingLong(this::totalNanos));
  }

  private long warmNanos() {
    return headNanos + restNanos[0];
  }

  private long totalNanos(Solution solution) {
    return Math.max(
        warmNanos() + solution.groups * model.waitNanos(), model.leadNanos() + solution.nanos);
  }
}
