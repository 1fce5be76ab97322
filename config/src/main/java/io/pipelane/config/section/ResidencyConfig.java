package io.pipelane.config.section;

import java.time.Duration;
import java.util.Locale;

/** The choice of which weights stay on a device, and what is brought in before it is asked for. */
public record ResidencyConfig(
    @Key(
            about =
                "Which weights give way when memory is needed: the pages that save least waiting"
                    + " (expected-stall), whole models (lru, lfu, greedy-dual-size), or all weights"
                    + " after each run (nothing-stays)",
            standard = "expected-stall")
        Policy policy,
    @Key(
            about =
                "Time after which a request counts half when the server estimates how often a"
                    + " model is asked for",
            standard = "2m",
            min = "1s",
            max = "24h")
        Duration halfLife,
    @Key(
            about =
                "Longest time in microseconds that a run should wait for weights. Pages are"
                    + " chosen first so that few requests wait longer; the average wait then grows"
                    + " a little. With 0 only the average counts. It needs residency.policy"
                    + " expected-stall",
            standard = "0",
            min = "0",
            max = "10000000")
        int stallTargetMicros,
    @Key(
            about = "Whether weights come in ahead of requests while nobody waits for the link",
            standard = "true")
        boolean prefetch,
    @Key(
            about =
                "Whether weights also come in ahead while no request waits, for models that are"
                    + " asked for often enough to be worth it. If false, weights come in ahead only"
                    + " for waiting requests and for loads",
            standard = "true")
        boolean idlePrefetch,
    @Key(
            about =
                "Whether models hold pages of device memory together in which their weights are"
                    + " alike, such as versions that differ in a few layers. If workers.zero-pages"
                    + " is true, a model shares pages only with models of the same tenant",
            standard = "true")
        boolean sharePages,
    @Key(
            about =
                "Whether copies of weights that no request waits for are held back while requests"
                    + " run, as such copies slow them down",
            standard = "true")
        boolean pacing) {
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
    this(policy, halfLife, stallTargetMicros, prefetch, idlePrefetch, false, true);
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
