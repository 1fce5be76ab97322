package io.pipelane.switcher.schedule.turn;

import io.pipelane.config.PipelaneConfig;
import io.pipelane.switcher.schedule.estimate.Estimates;
import io.pipelane.switcher.schedule.policy.Room;
import io.pipelane.switcher.schedule.policy.SchedulingPolicies;
import io.pipelane.switcher.schedule.queue.RequestQueue;
import io.pipelane.switcher.sharing.gate.OfflineGate;
import java.util.function.LongSupplier;

/** Queues that hold as many requests as come, of devices with room for all of their models. */
final class TurnQueues {
  private static final int MANY = 1_000_000;

  private TurnQueues() {}

  static RequestQueue of(
      PipelaneConfig config, Estimates estimates, int lanes, LongSupplier nanoClock) {
    return new RequestQueue(
        SchedulingPolicies.of(config.scheduling(), estimates, room(estimates)),
        estimates,
        lanes,
        MANY,
        Long.MAX_VALUE,
        nanoClock);
  }

  /** The same with a gate that holds offline requests. */
  static RequestQueue of(
      PipelaneConfig config,
      Estimates estimates,
      OfflineGate gate,
      int lanes,
      LongSupplier nanoClock) {
    return new RequestQueue(
        SchedulingPolicies.of(config.scheduling(), estimates, room(estimates), gate),
        estimates,
        lanes,
        MANY,
        Long.MAX_VALUE,
        nanoClock);
  }

  private static Room room(Estimates estimates) {
    return new Room(estimates, Long.MAX_VALUE, () -> Long.MAX_VALUE);
  }
}
