package io.pipelane.switcher.jobs;

import io.pipelane.config.PipelaneConfig;
import io.pipelane.config.section.SchedulingConfig;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.ConcurrentHashMap;

/** Small jobs at random, and rules to simulate them under. */
final class RandomJobs {
  static final long CAPACITY = 100;

  private static final Map<String, SchedulingConfig> CONFIGS = new ConcurrentHashMap<>();

  private RandomJobs() {}

  static SchedulingConfig scheduling(String policy) {
    return CONFIGS.computeIfAbsent(
        policy,
        name ->
            PipelaneConfig.of(Map.of("scheduling.policy", name, "scheduling.ageing-percent", "0"))
                .scheduling());
  }

  static JobRules rules(String policy, SwitchCosts costs) {
    return new JobRules(scheduling(policy), CAPACITY, 4, costs);
  }

  /** Up to {@code most} jobs, each of which could run alone. */
  static List<SimulatedJob> jobs(Random random, int most) {
    List<SimulatedJob> jobs = new ArrayList<>();
    int count = 1 + random.nextInt(most);
    for (int i = 0; i < count; i++) {
      long persistent = random.nextInt(40);
      long ephemeral = random.nextInt((int) (CAPACITY - persistent) + 1);
      jobs.add(
          new SimulatedJob(
              "job-" + i,
              random.nextInt(1_000),
              persistent,
              ephemeral,
              random.nextInt(3) * 10L,
              1 + random.nextInt(50),
              1 + random.nextInt(20),
              (1 + random.nextInt(10)) / 10.0));
    }
    return jobs;
  }
}
