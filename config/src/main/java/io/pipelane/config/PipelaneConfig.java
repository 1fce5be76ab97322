package io.pipelane.config;

import io.pipelane.config.section.DeviceConfig;
import io.pipelane.config.section.HostTierConfig;
import io.pipelane.config.section.HostsConfig;
import io.pipelane.config.section.ImportConfig;
import io.pipelane.config.section.JobsConfig;
import io.pipelane.config.section.LinkConfig;
import io.pipelane.config.section.LoggingConfig;
import io.pipelane.config.section.PlacementConfig;
import io.pipelane.config.section.QueueConfig;
import io.pipelane.config.section.RepositoryConfig;
import io.pipelane.config.section.ResidencyConfig;
import io.pipelane.config.section.RuntimeConfig;
import io.pipelane.config.section.SchedulingConfig;
import io.pipelane.config.section.SecurityConfig;
import io.pipelane.config.section.ServerConfig;
import io.pipelane.config.section.SharingConfig;
import io.pipelane.config.section.SwitchingConfig;
import io.pipelane.config.section.TracingConfig;
import io.pipelane.config.section.WorkersConfig;
import java.util.Map;

/** Everything that can be set, one record per area; see {@link Settings} for the keys. */
public record PipelaneConfig(
    @Section(name = "server", about = "The front ends, HTTP and gRPC") ServerConfig server,
    @Section(name = "security", about = "Who may ask what") SecurityConfig security,
    @Section(name = "repository", about = "Where models and what is derived from them lie")
        RepositoryConfig repository,
    @Section(name = "import", about = "How model files are checked and prepared, in a process each")
        ImportConfig imports,
    @Section(name = "device", about = "What models run on, and the memory they are given")
        DeviceConfig device,
    @Section(name = "link", about = "The path from host memory to device memory") LinkConfig link,
    @Section(name = "switching", about = "How models are brought onto a device")
        SwitchingConfig switching,
    @Section(name = "runtime", about = "ONNX Runtime") RuntimeConfig runtime,
    @Section(
            name = "host-tier",
            about = "Host memory that keeps weights ready for transfer, and states that wait")
        HostTierConfig hostTier,
    @Section(
            name = "residency",
            about = "Which weights stay on a device, and what is brought in ahead")
        ResidencyConfig residency,
    @Section(name = "placement", about = "Which of several devices answers a request")
        PlacementConfig placement,
    @Section(name = "hosts", about = "Other hosts, and what is forwarded to them")
        HostsConfig hosts,
    @Section(name = "workers", about = "What models run in, and how it is replaced when it dies")
        WorkersConfig workers,
    @Section(name = "queue", about = "Requests that wait for their turn") QueueConfig queue,
    @Section(name = "scheduling", about = "Which of the waiting requests runs next")
        SchedulingConfig scheduling,
    @Section(name = "sharing", about = "How online and offline work share a device")
        SharingConfig sharing,
    @Section(name = "jobs", about = "Inference over many items, in the background") JobsConfig jobs,
    @Section(name = "tracing", about = "Spans of requests, for OpenTelemetry")
        TracingConfig tracing,
    @Section(name = "logging", about = "The log, on standard error") LoggingConfig logging) {

  /** The configuration when nothing is set. */
  public static PipelaneConfig defaults() {
    return of(Map.of());
  }

  /**
   * The configuration with some values set, as flags would: {@code device.memory → 128MiB}.
   *
   * @throws ConfigException for an unknown key or an impossible value
   */
  public static PipelaneConfig of(Map<String, String> values) {
    return ConfigLoader.load(null, Map.of(), values).config();
  }
}
