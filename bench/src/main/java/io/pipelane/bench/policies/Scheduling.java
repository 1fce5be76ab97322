package io.pipelane.bench.policies;

import io.pipelane.config.section.SchedulingConfig.Policy;
import java.util.Map;

/**
 * A server's way of scheduling.
 *
 * @param name for people
 * @param settings by key
 */
record Scheduling(String name, Map<String, String> settings) {
  Scheduling {
    settings = Map.copyOf(settings);
  }

  static Scheduling by(Policy policy) {
    return new Scheduling(policy.toString(), Map.of("scheduling.policy", policy.toString()));
  }

  /** The shortest first, which may have an online run end so often for its memory's sake. */
  static Scheduling withRestarts(int most) {
    return new Scheduling(
        "srtf, restarts " + most,
        Map.of(
            "scheduling.policy",
            Policy.SRTF.toString(),
            "scheduling.restarts",
            Integer.toString(most)));
  }
}
