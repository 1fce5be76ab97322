package io.pipelane.config;

import java.time.Duration;
import java.util.Locale;

/** The choice of which weights stay on a device, and what is brought in before it is asked for. */
public record ResidencyConfig(
    @Key(
            about =
                "Who gives way: the pages that save least waiting, or whole models; nothing-stays"
                    + " empties the device after each run",
            standard = "expected-stall")
        Policy policy,
    @Key(
            about = "After this time a request counts half when rates are estimated",
            standard = "2m",
            min = "1s",
            max = "24h")
        Duration halfLife,
    @Key(
            about =
                "The longest that a run should wait for weights, which pages are then chosen for"
                    + " first: fewer requests wait longer, and on the average they wait a little"
                    + " longer. 0 counts the average alone; expected-stall only",
            standard = "0",
            min = "0",
            max = "10000000")
        int stallTargetMicros,
    @Key(
            about =
                "Whether weights are brought in ahead of requests while nobody waits for the link",
            standard = "true")
        boolean prefetch,
    @Key(
            about =
                "Whether that goes on when no request waits, for models that come often enough to be"
                    + " worth it; off, it is for waiting requests and for loads",
            standard = "true")
        boolean idlePrefetch,
    @Key(
            about =
                "Whether models whose weights are alike in places hold those pages of a device's"
                    + " memory together, as versions do that differ in a few layers; tenants' models"
                    + " with their own tenant's alone where workers.zero-pages is true",
            standard = "true")
        boolean sharePages) {
  /**
   * A configuration in which each model has pages of its own, for where copies of one stand for
   * different ones.
   */
  public ResidencyConfig(
      Policy policy,
      Duration halfLife,
      int stallTargetMicros,
      boolean prefetch,
      boolean idlePrefetch) {
    this(policy, halfLife, stallTargetMicros, prefetch, idlePrefetch, false);
  }

  /** The policy that says who gives way when memory is wanted. */
  public enum Policy {
    EXPECTED_STALL,
    LRU,
    LFU,
    GREEDY_DUAL_SIZE,
    NOTHING_STAYS;

    /** As it is written in a configuration. */
    @Override
    public String toString() {
      return name().toLowerCase(Locale.ROOT).replace('_', '-');
    }
  }
}
