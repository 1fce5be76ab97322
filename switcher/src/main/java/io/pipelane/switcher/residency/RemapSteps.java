package io.pipelane.switcher.residency;

import java.util.ArrayList;
import java.util.List;

/**
 * The steps in which a variant's pages are put under its structure's addresses while it runs
 * already. The first step is one page for its first segments, each next one has twice as many. One
 * step is one call into the driver for all its pages.
 */
public final class RemapSteps {
  private RemapSteps() {}

  /** How many pages lie there after each step, the last time all of them. */
  public static List<Integer> ends(int pages) {
    List<Integer> ends = new ArrayList<>();
    int step = 1;
    for (int end = 0; end < pages; step *= 2) {
      end = Math.min(pages, end + step);
      ends.add(end);
    }
    return ends;
  }
}
