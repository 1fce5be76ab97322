package io.pipelane.switcher.placement;

import io.pipelane.switcher.Switcher;
import java.util.concurrent.atomic.LongAdder;

/** A device among others, and what it has to do. */
final class Member {
  final int index;
  final String name;
  final Switcher switcher;
  final Backlog backlog;
  final LongAdder routed = new LongAdder();
  final LongAdder lostRuns = new LongAdder();

  Member(int index, String name, Switcher switcher) {
    this.index = index;
    this.name = name;
    this.switcher = switcher;
    this.backlog = new Backlog(switcher.lanes());
  }

  boolean isUsable() {
    return switcher.isUsable();
  }
}
