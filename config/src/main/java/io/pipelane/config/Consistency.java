package io.pipelane.config;

import io.pipelane.config.section.DeviceConfig;
import io.pipelane.config.section.PlacementConfig;
import io.pipelane.config.section.SecurityConfig;
import io.pipelane.config.section.SharingConfig;
import io.pipelane.config.section.TracingConfig;
import io.pipelane.config.section.WorkersConfig;
import io.pipelane.config.value.ByteSize;
import io.pipelane.config.value.DeviceSelection;
import io.pipelane.config.value.Thresholds;
import java.time.Duration;
import java.util.Set;

/** Rules that bind two settings, or one more tightly than its type does. */
final class Consistency {
  private static final Set<String> THIS_MACHINE = Set.of("localhost", "127.0.0.1", "[::1]");

  private static final Set<String> ANY_ADDRESS = Set.of("0.0.0.0", "::", "0:0:0:0:0:0:0:0");

  private final EffectiveConfig effective;

  private Consistency(EffectiveConfig effective) {
    this.effective = effective;
  }

  /**
   * Checks all rules.
   *
   * @throws ConfigException naming the settings of the first rule that is broken
   */
  static void check(EffectiveConfig effective) {
    PipelaneConfig config = effective.config();
    Consistency rules = new Consistency(effective);
    rules.noShareAcrossProcesses(config);
    rules.noTrialWithoutGates(config.sharing());
    rules.thresholds(config.sharing());
    rules.offOrNotTooOften(config.placement().offlineInterval());
    config.device().memory().ifPresent(memory -> rules.onePageAtLeast(config.device(), memory));
    rules.together(
        "server.tls-certificate",
        config.server().tlsCertificate().isPresent(),
        "server.tls-key",
        config.server().tlsKey().isPresent());
    if (config.server().tlsClientAuthorities().isPresent()) {
      rules.needs(
          "server.tls-client-authorities",
          "server.tls-certificate",
          config.server().tlsCertificate().isPresent());
    }
    rules.portOfItsOwn(config);
    rules.tokens(config.security());
    rules.collector(config.tracing());
    rules.reachable(config);
    if (config.repository().upload() && config.repository().modelName().isPresent()) {
      throw new ConfigException(
          "%s is for a folder of models; leave %s out"
              .formatted(
                  effective.describe("repository.upload"),
                  effective.describe("repository.model-name")));
    }
    rules.atMost(
        "server.max-request-size",
        config.server().maxRequestSize(),
        "queue.max-bytes",
        config.queue().maxBytes(),
        "the largest request must fit the queue");
  }

  private void noShareAcrossProcesses(PipelaneConfig config) {
    if (config.workers().offline() == WorkersConfig.Offline.OWN && config.sharing().hasShare()) {
      throw new ConfigException(
          "%s and %s exclude each other: processes take turns on a GPU, none keeps to some of its multiprocessors beside another"
              .formatted(
                  effective.describe("workers.offline"),
                  effective.describe("sharing.multiprocessors")));
    }
  }

  private void noTrialWithoutGates(SharingConfig sharing) {
    if (sharing.protection() == SharingConfig.Protection.NONE
        && sharing.multiprocessors() == SharingConfig.Multiprocessors.MEASURED) {
      throw new ConfigException(
          "%s and %s exclude each other: what is measured is online work alone, for which offline work is held at gates; set sharing.protection: gates, or sharing.multiprocessors: always or off"
              .formatted(
                  effective.describe("sharing.multiprocessors"),
                  effective.describe("sharing.protection")));
    }
  }

  private void thresholds(SharingConfig sharing) {
    rises("sharing.utilization", sharing.utilization());
    rises("sharing.activity", sharing.activity());
    falls("sharing.clock", sharing.clock());
    rises("sharing.memory", sharing.memory());
    rises("sharing.memory-pressure", sharing.memoryPressure());
    rises("sharing.host-memory", sharing.hostMemory());
    falls("sharing.attainment", sharing.attainment());
  }

  private void offOrNotTooOften(Duration interval) {
    if (!interval.isZero() && interval.compareTo(PlacementConfig.LEAST_OFFLINE_INTERVAL) < 0) {
      throw new ConfigException(
          "%s must be 0ms, or %ds at least: sooner nothing new is known of any job"
              .formatted(
                  effective.describe("placement.offline-interval"),
                  PlacementConfig.LEAST_OFFLINE_INTERVAL.toSeconds()));
    }
  }

  private void rises(String key, Thresholds thresholds) {
    if (!thresholds.rise()) {
      throw new ConfigException(
          "%s must rise, like 90/95/98: more of it is worse".formatted(effective.describe(key)));
    }
  }

  private void falls(String key, Thresholds thresholds) {
    if (!thresholds.fall()) {
      throw new ConfigException(
          "%s must fall, like 98/95/90: less of it is worse".formatted(effective.describe(key)));
    }
  }

  private void reachable(PipelaneConfig config) {
    boolean anywhere = ANY_ADDRESS.contains(config.server().host().text());
    if (config.hosts().etcd().isPresent() && config.hosts().advertise().isEmpty() && anywhere) {
      throw new ConfigException(
          "%s is no address that other hosts could reach this one at; set hosts.advertise"
              .formatted(effective.describe("server.host")));
    }
  }

  private void portOfItsOwn(PipelaneConfig config) {
    int management = config.security().managementPort().orElse(0);
    if (management > 0
        && (management == config.server().httpPort()
            || management == config.server().effectiveGrpcPort())) {
      throw new ConfigException(
          "%s is the port of %s, too; give management one of its own"
              .formatted(
                  effective.describe("security.management-port"),
                  management == config.server().httpPort()
                      ? effective.describe("server.http-port")
                      : effective.describe("server.grpc-port")));
    }
  }

  private void tokens(SecurityConfig security) {
    if (security.jwtKeys().isPresent() && security.jwtKeysUrl().isPresent()) {
      throw new ConfigException(
          "%s and %s both say where the keys of tokens are: leave one out"
              .formatted(
                  effective.describe("security.jwt-keys"),
                  effective.describe("security.jwt-keys-url")));
    }
    security
        .jwtKeysUrl()
        .filter(url -> !url.getScheme().equals("https") && !THIS_MACHINE.contains(url.getHost()))
        .ifPresent(
            _ -> {
              throw new ConfigException(
                  effective.describe("security.jwt-keys-url")
                      + " must be https: whoever could change the keys on their way could sign"
                      + " tokens");
            });
    String keys = security.jwtKeysUrl().isPresent() ? "security.jwt-keys-url" : "security.jwt-keys";
    boolean tokens = security.jwtKeys().isPresent() || security.jwtKeysUrl().isPresent();
    together(keys, tokens, "security.jwt-issuer", security.jwtIssuer().isPresent());
    together(keys, tokens, "security.jwt-audience", security.jwtAudience().isPresent());
  }

  private void collector(TracingConfig tracing) {
    boolean isTraced = tracing.endpoint().isPresent();
    if (tracing.headers().isPresent()) {
      needs("tracing.headers", "tracing.endpoint", isTraced);
    }
    if (tracing.authorities().isPresent()) {
      needs("tracing.authorities", "tracing.endpoint", isTraced);
      tracing
          .endpoint()
          .filter(endpoint -> !endpoint.getScheme().equals("https"))
          .ifPresent(
              _ -> {
                throw new ConfigException(
                    "%s is for an https endpoint, and there is %s"
                        .formatted(
                            effective.describe("tracing.authorities"),
                            effective.describe("tracing.endpoint")));
              });
    }
  }

  private void onePageAtLeast(DeviceConfig device, ByteSize memory) {
    boolean onGpu = device.kind() instanceof DeviceSelection.Cuda;
    ByteSize page = (onGpu ? device.forGpu(0) : device.forCpu(1)).page();
    atMost("device.page-size", page, "device.memory", memory, "weights need one page at least");
  }

  private void needs(String key, String otherKey, boolean otherSet) {
    if (!otherSet) {
      throw new ConfigException(
          "%s needs %s: set that too, or leave this out"
              .formatted(effective.describe(key), otherKey));
    }
  }

  private void together(String key, boolean set, String otherKey, boolean otherSet) {
    if (set != otherSet) {
      throw new ConfigException(
          "%s needs %s: set both, or neither"
              .formatted(effective.describe(set ? key : otherKey), set ? otherKey : key));
    }
  }

  private void atMost(String key, ByteSize value, String limitKey, ByteSize limit, String reason) {
    if (value.compareTo(limit) > 0) {
      throw new ConfigException(
          "%s must be at most %s: %s"
              .formatted(effective.describe(key), effective.describe(limitKey), reason));
    }
  }
}
