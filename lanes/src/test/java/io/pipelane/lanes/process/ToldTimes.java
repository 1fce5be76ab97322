package io.pipelane.lanes.process;

import java.util.ArrayList;
import java.util.List;

/** Weights that are there, and the times that runs have told of their segments. */
final class ToldTimes implements PresentWeights {
  final List<long[]> runs = new ArrayList<>();

  @Override
  public void computed(long[] segmentNanos) {
    runs.add(segmentNanos);
  }
}
