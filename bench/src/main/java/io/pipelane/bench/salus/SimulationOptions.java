package io.pipelane.bench.salus;

import io.pipelane.config.PipelaneConfig;
import io.pipelane.config.section.SchedulingConfig;
import io.pipelane.config.section.SchedulingConfig.Policy;
import io.pipelane.config.value.ByteSize;
import io.pipelane.switcher.jobs.JobRules;
import io.pipelane.switcher.jobs.SwitchCosts;
import java.util.Map;
import picocli.CommandLine.Option;

/** The options that say what the device of a simulation is like. */
public final class SimulationOptions {
  private static final double BYTES_PER_GIGABYTE = 1e9;
  private static final double NANOS_PER_MILLI = 1e6;

  @Option(
      names = "--memory",
      paramLabel = "SIZE",
      description =
          "Of the device, that for weights where it is live; the paper's has 16 GB (${DEFAULT-VALUE}).")
  private String memory = "16GiB";

  @Option(
      names = "--lanes",
      paramLabel = "N",
      description = "Most lanes that pack opens; the others use one (${DEFAULT-VALUE}).")
  private int lanes = 16;

  @Option(
      names = "--link",
      paramLabel = "GB/S",
      description = {
        "At which a job's persistent memory comes in when it is not there, as measured on an H200 "
            + "(${DEFAULT-VALUE})."
      })
  private double link = 55.5;

  @Option(
      names = "--change",
      paramLabel = "MS",
      description = {
        "What changing to another job costs otherwise, as measured of cold ResNet-152 on an H200 "
            + "(${DEFAULT-VALUE})."
      })
  private double change = 0.15;

  /** The rules under a policy: srtf without ageing, one lane for all but pack. */
  public JobRules rules(Policy policy) {
    return rules(policy, policy == Policy.PACK ? lanes : 1);
  }

  /** The rules under a policy with so many lanes at most. */
  public JobRules rules(Policy policy, int mostLanes) {
    SwitchCosts costs =
        new SwitchCosts(Math.round(change * NANOS_PER_MILLI), link * BYTES_PER_GIGABYTE);
    return new JobRules(scheduling(policy), memoryBytes(), mostLanes, costs);
  }

  /** Of the device, as it is configured. */
  public String memory() {
    return memory;
  }

  /** Bytes of the device. */
  public long memoryBytes() {
    return ByteSize.parse(memory).bytes();
  }

  private static SchedulingConfig scheduling(Policy policy) {
    return PipelaneConfig.of(
            Map.of("scheduling.policy", policy.toString(), "scheduling.ageing-percent", "0"))
        .scheduling();
  }
}
