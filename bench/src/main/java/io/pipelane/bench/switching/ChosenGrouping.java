package io.pipelane.bench.switching;

import io.pipelane.modelstore.Plan;
import io.pipelane.switcher.grouping.Grouping;
import java.util.List;

/** Groups as another grouping says, which can be exchanged between runs. */
final class ChosenGrouping implements Grouping {
  private volatile Grouping current;

  ChosenGrouping(Grouping first) {
    current = first;
  }

  void choose(Grouping next) {
    current = next;
  }

  @Override
  public List<Group> groups(Plan plan, long residentBytes) {
    return current.groups(plan, residentBytes);
  }
}
