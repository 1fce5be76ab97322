package io.pipelane.switcher.placement;

import io.pipelane.modelstore.repository.ModelOptions.Priority;
import io.pipelane.switcher.InferenceTimings;
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
  final Done online = new Done();
  final Done offline = new Done();

  /** Requests of one class that have been answered. */
  static final class Done {
    private final LongAdder requests = new LongAdder();
    private final LongAdder runNanos = new LongAdder();

    MemberOverview.Work overview() {
      return new MemberOverview.Work(requests.sum(), runNanos.sum());
    }
  }

  Member(int index, String name, Switcher switcher) {
    this.index = index;
    this.name = name;
    this.switcher = switcher;
    this.backlog = new Backlog(switcher.lanes());
  }

  /** A request has been answered here. */
  void answered(Priority priority, InferenceTimings timings) {
    Done done =
        switch (priority) {
          case ONLINE -> online;
          case OFFLINE -> offline;
        };
    done.requests.increment();
    done.runNanos.add(timings.computedNanos());
  }

  boolean isUsable() {
    return switcher.isUsable();
  }
}
