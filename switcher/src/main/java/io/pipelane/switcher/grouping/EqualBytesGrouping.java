package io.pipelane.switcher.grouping;

import io.pipelane.modelstore.Plan;
import io.pipelane.modelstore.Plan.Segment;
import java.util.ArrayList;
import java.util.List;

/**
 * Groups of about equal bytes, ending where segments end, none smaller than a minimum (but the
 * last).
 *
 * @param maximumGroups into how many groups a whole model is cut at most
 * @param minimumBytes below this a copy's fixed cost outweighs what is gained by an earlier start
 */
public record EqualBytesGrouping(int maximumGroups, long minimumBytes) implements Grouping {
  public EqualBytesGrouping {
    if (maximumGroups < 1 || minimumBytes < 1) {
      throw new IllegalArgumentException(
          "groups: at least 1 group and 1 byte, not %d and %d"
              .formatted(maximumGroups, minimumBytes));
    }
  }

  @Override
  public List<Group> groups(Plan plan, long residentBytes) {
    long target = Math.max(minimumBytes, Math.ceilDiv(plan.weightBytes(), maximumGroups));
    List<Group> groups = new ArrayList<>();
    long begin = residentBytes;
    for (Segment segment : plan.segments()) {
      if (segment.end() - begin >= target) {
        groups.add(new Group(begin, segment.end()));
        begin = segment.end();
      }
    }
    if (begin < plan.weightBytes()) {
      groups.add(new Group(begin, plan.weightBytes()));
    }
    return groups;
  }
}
