package io.pipelane.config;

import static java.util.Map.entry;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.net.URI;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** For every section the pair: what it is by default, and every value changed. */
class SectionsTest {
  private static final Map<String, String> ENVIRONMENT = Map.of("HOME", "/home/someone");

  private static final PipelaneConfig DEFAULTS =
      ConfigLoader.load(null, ENVIRONMENT, Map.of()).config();

  private static PipelaneConfig changed(Map<String, String> flags) {
    return ConfigLoader.load(null, ENVIRONMENT, flags).config();
  }

  private static ByteSize size(String text) {
    return ByteSize.parse(text);
  }

  @Test
  void server_defaults() {
    assertEquals(
        new ServerConfig(
            new HostName("127.0.0.1"),
            8000,
            Optional.empty(),
            Optional.empty(),
            Optional.empty(),
            Optional.empty(),
            Optional.empty(),
            ServerConfig.Transport.AUTO,
            0,
            size("64MiB"),
            size("128MiB"),
            10_000,
            Duration.ofSeconds(60),
            Duration.ofSeconds(30)),
        DEFAULTS.server());
  }

  @Test
  void server_everyValueChanged() {
    assertEquals(
        new ServerConfig(
            new HostName("::1"),
            0,
            Optional.of(-1),
            Optional.of(Path.of("server.pem")),
            Optional.of(Path.of("server.key")),
            Optional.of(Path.of("clients.pem")),
            Optional.of(new Addresses(List.of(URI.create("https://models.example:8443")))),
            ServerConfig.Transport.IO_URING,
            4,
            size("1MB"),
            size("256MB"),
            7,
            Duration.ofMinutes(5),
            Duration.ZERO),
        changed(
                Map.ofEntries(
                    entry("server.host", "::1"),
                    entry("server.http-port", "0"),
                    entry("server.grpc-port", "-1"),
                    entry("server.tls-certificate", "server.pem"),
                    entry("server.tls-key", "server.key"),
                    entry("server.tls-client-authorities", "clients.pem"),
                    entry("server.origins", "https://models.example:8443"),
                    entry("server.transport", "io_uring"),
                    entry("server.event-loops", "4"),
                    entry("server.max-request-size", "1MB"),
                    entry("server.transfer-memory", "256MB"),
                    entry("server.max-connections", "7"),
                    entry("server.idle-timeout", "5m"),
                    entry("server.drain-timeout", "0s")))
            .server());
  }

  @ParameterizedTest
  @CsvSource({"8000, 8001", "0, 0", "65535, 0"})
  void grpcPort_isTheNextOfHttpsUnlessSet(String httpPort, int grpcPort) {
    ServerConfig server = changed(Map.of("server.http-port", httpPort)).server();
    assertEquals(grpcPort, server.effectiveGrpcPort());
  }

  @ParameterizedTest
  @ValueSource(
      strings = {"server.tls-certificate", "server.tls-key", "server.tls-client-authorities"})
  void tlsSettings_comeTogether(String alone) {
    ConfigException error =
        assertThrows(ConfigException.class, () -> changed(Map.of(alone, "some.pem")));
    assertTrue(String.valueOf(error.getMessage()).contains("set both, or neither"));
  }

  @Test
  void security_defaults() {
    assertEquals(
        new SecurityConfig(
            Optional.empty(),
            Optional.empty(),
            Optional.empty(),
            Optional.empty(),
            Optional.empty(),
            Optional.empty(),
            new Text("roles"),
            new Text("models"),
            new Text("limits"),
            Optional.empty(),
            Optional.empty(),
            false),
        DEFAULTS.security());
  }

  @Test
  void security_everyValueChanged() {
    assertEquals(
        new SecurityConfig(
            Optional.of(Path.of("keys.yaml")),
            Optional.of(8002),
            Optional.empty(),
            Optional.of(URI.create("https://login.example/keys")),
            Optional.of(new Text("https://login.example/")),
            Optional.of(new Text("pipelane")),
            new Text("groups"),
            new Text("for"),
            new Text("quota"),
            Optional.of(20),
            Optional.of(4),
            true),
        changed(
                Map.ofEntries(
                    entry("security.api-keys", "keys.yaml"),
                    entry("security.management-port", "8002"),
                    entry("security.jwt-keys-url", "https://login.example/keys"),
                    entry("security.jwt-issuer", "https://login.example/"),
                    entry("security.jwt-audience", "pipelane"),
                    entry("security.jwt-roles-claim", "groups"),
                    entry("security.jwt-models-claim", "for"),
                    entry("security.jwt-limits-claim", "quota"),
                    entry("security.jwt-requests-per-second", "20"),
                    entry("security.jwt-concurrent-requests", "4"),
                    entry("security.shared-memory", "true")))
            .security());
  }

  @ParameterizedTest
  @CsvSource({
    "security.jwt-keys=jwks.json security.jwt-keys-url=https://a/b, leave one out",
    "security.jwt-keys-url=http://a/b, must be https",
    "security.jwt-keys-url=https://a/b, 'set both, or neither'"
  })
  void keysOfTokens_areInOnePlaceThatIsTrusted(String settings, String expected) {
    Map<String, String> values =
        Stream.of(settings.split(" "))
            .map(setting -> setting.split("=", 2))
            .collect(Collectors.toMap(parts -> parts[0], parts -> parts[1]));
    ConfigException error = assertThrows(ConfigException.class, () -> changed(values));
    assertTrue(String.valueOf(error.getMessage()).contains(expected), error::getMessage);
  }

  @ParameterizedTest
  @ValueSource(strings = {"security.jwt-keys", "security.jwt-issuer", "security.jwt-audience"})
  void security_onePartOfJwt_isRefused(String key) {
    ConfigException refusal =
        assertThrows(ConfigException.class, () -> changed(Map.of(key, "something")));
    assertTrue(String.valueOf(refusal.getMessage()).contains("set both"), refusal::getMessage);
  }

  @Test
  void tracing_defaults() {
    assertEquals(
        new TracingConfig(Optional.empty(), Optional.empty(), Optional.empty(), new Ratio(1)),
        DEFAULTS.tracing());
  }

  @Test
  void tracing_everyValueChanged() {
    assertEquals(
        new TracingConfig(
            Optional.of(URI.create("https://there:4318/v1/traces")),
            Optional.of(Path.of("headers.txt")),
            Optional.of(Path.of("authorities.pem")),
            new Ratio(0.25)),
        changed(
                Map.of(
                    "tracing.endpoint",
                    "https://there:4318/v1/traces",
                    "tracing.headers",
                    "headers.txt",
                    "tracing.authorities",
                    "authorities.pem",
                    "tracing.ratio",
                    "0.25"))
            .tracing());
  }

  @Test
  void tracing_filesOfACollector_needOneThatCanUseThem() {
    Map<String, String> headers = Map.of("tracing.headers", "h.txt");
    assertThrows(ConfigException.class, () -> changed(headers));
    Map<String, String> authorities = Map.of("tracing.authorities", "a.pem");
    assertThrows(ConfigException.class, () -> changed(authorities));
    Map<String, String> plain =
        Map.of("tracing.authorities", "a.pem", "tracing.endpoint", "http://there:4318/v1/traces");
    ConfigException refusal = assertThrows(ConfigException.class, () -> changed(plain));
    assertTrue(String.valueOf(refusal.getMessage()).contains("https"), refusal.getMessage());
  }

  @ParameterizedTest
  @CsvSource({
    "tracing.endpoint, there:4318",
    "tracing.endpoint, ftp://there/",
    "tracing.ratio, 1.5",
    "tracing.ratio, NaN"
  })
  void tracing_valueOutOfRange_isRefused(String key, String value) {
    assertThrows(ConfigException.class, () -> changed(Map.of(key, value)));
  }

  @Test
  void hosts_defaults() {
    assertEquals(
        new HostsConfig(
            Optional.empty(),
            Optional.empty(),
            new Text("/pipelane/hosts/"),
            Duration.ofSeconds(5),
            Duration.ofMillis(250),
            Duration.ofMillis(1),
            Duration.ofSeconds(60),
            256,
            Optional.empty()),
        DEFAULTS.hosts());
  }

  @Test
  void hosts_everyValueChanged() {
    assertEquals(
        new HostsConfig(
            Optional.of(
                new Addresses(
                    List.of(URI.create("http://etcd-0:2379"), URI.create("https://etcd-1:2379")))),
            Optional.of(URI.create("https://10.0.0.5:8000")),
            new Text("/others"),
            Duration.ofSeconds(10),
            Duration.ofMillis(100),
            Duration.ZERO,
            Duration.ofSeconds(5),
            16,
            Optional.of(Path.of("authorities.pem"))),
        changed(
                Map.of(
                    "hosts.etcd", "http://etcd-0:2379, https://etcd-1:2379",
                    "hosts.advertise", "https://10.0.0.5:8000",
                    "hosts.prefix", "/others",
                    "hosts.lease", "10s",
                    "hosts.announce-every", "100ms",
                    "hosts.hop", "0ms",
                    "hosts.answer-timeout", "5s",
                    "hosts.connections", "16",
                    "hosts.authorities", "authorities.pem"))
            .hosts());
  }

  @ParameterizedTest
  @CsvSource({
    "hosts.etcd, etcd:2379",
    "hosts.etcd, 'http://a:1,'",
    "hosts.etcd, http://name:secret@a:1",
    "hosts.etcd, 'http://a:1,http://name:secret@b:1'",
    "hosts.etcd, http://name:s/ecret@a:1",
    "hosts.lease, 0s",
    "hosts.connections, 0"
  })
  void hosts_valueOutOfRange_isRefused(String key, String value) {
    ConfigException refusal =
        assertThrows(ConfigException.class, () -> changed(Map.of(key, value)));
    assertFalse(String.valueOf(refusal.getMessage()).contains("ecret"), refusal::getMessage);
  }

  @Test
  void hosts_needAnAddressThatOthersCanReach() {
    Map<String, String> anywhere =
        Map.of("hosts.etcd", "http://etcd:2379", "server.host", "0.0.0.0");
    ConfigException refusal = assertThrows(ConfigException.class, () -> changed(anywhere));
    assertTrue(String.valueOf(refusal.getMessage()).contains("hosts.advertise"));
  }

  @Test
  void logging_defaults() {
    assertEquals(new LoggingConfig(LoggingConfig.Format.TEXT), DEFAULTS.logging());
  }

  @Test
  void logging_everyValueChanged() {
    assertEquals(
        new LoggingConfig(LoggingConfig.Format.JSON),
        changed(Map.of("logging.format", "json")).logging());
  }

  @Test
  void residency_defaults() {
    assertEquals(
        new ResidencyConfig(
            ResidencyConfig.Policy.EXPECTED_STALL,
            Duration.ofMinutes(2),
            0,
            true,
            true,
            true,
            true),
        DEFAULTS.residency());
  }

  @Test
  void residency_everyValueChanged() {
    assertEquals(
        new ResidencyConfig(
            ResidencyConfig.Policy.GREEDY_DUAL_SIZE,
            Duration.ofSeconds(30),
            900,
            false,
            false,
            false,
            false),
        changed(
                Map.of(
                    "residency.policy", "greedy-dual-size",
                    "residency.half-life", "30s",
                    "residency.stall-target-micros", "900",
                    "residency.prefetch", "false",
                    "residency.idle-prefetch", "false",
                    "residency.share-pages", "false",
                    "residency.pacing", "false"))
            .residency());
  }

  @Test
  void workers_defaults() {
    assertEquals(
        new WorkersConfig(
            WorkersConfig.Isolation.AUTO,
            WorkersConfig.SwitchOn.FAULT,
            2,
            WorkersConfig.Offline.SHARED,
            Duration.ofSeconds(30),
            Duration.ofSeconds(60),
            size("128MiB"),
            false),
        DEFAULTS.workers());
  }

  @Test
  void workers_everyValueChanged() {
    assertEquals(
        new WorkersConfig(
            WorkersConfig.Isolation.PROCESS,
            WorkersConfig.SwitchOn.TENANT,
            3,
            WorkersConfig.Offline.OWN,
            Duration.ofMillis(500),
            Duration.ofSeconds(5),
            size("64MiB"),
            true),
        changed(
                Map.of(
                    "workers.isolation", "process",
                    "workers.switch", "tenant",
                    "workers.standbys", "3",
                    "workers.offline", "own",
                    "workers.hang-timeout", "500ms",
                    "workers.start-timeout", "5s",
                    "workers.heap", "64MiB",
                    "workers.zero-pages", "true"))
            .workers());
  }

  @ParameterizedTest
  @CsvSource({"auto,false,true", "thread,false,false", "process,true,true"})
  void workers_isolation_isByTheDeviceUnlessItIsSaid(
      String isolation, boolean onProcessor, boolean onGpu) {
    WorkersConfig workers = changed(Map.of("workers.isolation", isolation)).workers();

    assertEquals(onProcessor, workers.usesProcesses(false));
    assertEquals(onGpu, workers.usesProcesses(true));
  }

  @Test
  void offlineProcessOfItsOwn_andAShareOfTheMultiprocessors_excludeEachOther() {
    ConfigException refusal =
        assertThrows(
            ConfigException.class,
            () -> changed(Map.of("workers.offline", "own", "sharing.multiprocessors", "measured")));
    assertTrue(String.valueOf(refusal.getMessage()).contains("workers.offline"));
  }

  @Test
  void repository_defaults() {
    assertEquals(
        new RepositoryConfig(
            Optional.empty(),
            Optional.empty(),
            Path.of("/home/someone/.cache/pipelane"),
            Duration.ZERO,
            false,
            size("4GiB")),
        DEFAULTS.repository());
  }

  @Test
  void repository_everyValueChanged() {
    assertEquals(
        new RepositoryConfig(
            Optional.of(Path.of("models")),
            Optional.of(new ModelName("my model")),
            Path.of("/home/someone/derived"),
            Duration.ofSeconds(30),
            false,
            size("1MiB")),
        changed(
                Map.of(
                    "repository.path", "models",
                    "repository.model-name", "my model",
                    "repository.cache", "~/derived",
                    "repository.poll", "30s",
                    "repository.upload-limit", "1MiB"))
            .repository());
  }

  @Test
  void upload_isForFoldersOfModels() {
    assertTrue(changed(Map.of("repository.upload", "true")).repository().upload());
    Map<String, String> both = Map.of("repository.upload", "true", "repository.model-name", "m");
    assertThrows(ConfigException.class, () -> changed(both));
  }

  @Test
  void repositoryCache_withXdgVariable_liesBelowIt() {
    Map<String, String> environment = Map.of("HOME", "/home/someone", "XDG_CACHE_HOME", "/fast");
    assertEquals(
        Path.of("/fast/pipelane"),
        ConfigLoader.load(null, environment, Map.of()).config().repository().cache());
  }

  @Test
  void import_defaults() {
    assertEquals(
        new ImportConfig(
            Duration.ofMinutes(5),
            size("16GiB"),
            size("16GiB"),
            Optional.empty(),
            Optional.empty(),
            Optional.empty(),
            1),
        DEFAULTS.imports());
  }

  @Test
  void import_everyValueChanged() {
    assertEquals(
        new ImportConfig(
            Duration.ofSeconds(9),
            size("2500MiB"),
            size("1GB"),
            Optional.of(size("64KiB")),
            Optional.of(256),
            Optional.of(500),
            2),
        changed(
                Map.of(
                    "import.timeout", "9s",
                    "import.memory", "2500MiB",
                    "import.max-file-size", "1GB",
                    "import.min-segment", "64KiB",
                    "import.max-segments", "256",
                    "import.max-segment-micros", "500",
                    "import.concurrency", "2"))
            .imports());
  }

  @Test
  void placement_defaults() {
    assertEquals(
        new PlacementConfig(
            PlacementConfig.Routing.PREDICTED,
            true,
            Duration.ofSeconds(30),
            true,
            32,
            Duration.ofMinutes(15)),
        DEFAULTS.placement());
  }

  @Test
  void placement_everyValueChanged() {
    assertEquals(
        new PlacementConfig(
            PlacementConfig.Routing.ROUND_ROBIN,
            false,
            Duration.ofSeconds(2),
            false,
            8,
            Duration.ZERO),
        changed(
                Map.of(
                    "placement.routing", "round-robin",
                    "placement.replicas", "false",
                    "placement.replica-half-life", "2s",
                    "placement.peer-memory", "false",
                    "placement.ready-sessions", "8",
                    "placement.offline-interval", "0ms"))
            .placement());
  }

  @Test
  void device_defaults() {
    assertEquals(
        new DeviceConfig(
            new DeviceSelection.Cpu(),
            Optional.empty(),
            size("2GiB"),
            size("64MiB"),
            Optional.empty(),
            0),
        DEFAULTS.device());
  }

  @Test
  void device_budgetWhenNothingIsSet_dependsOnTheDevice() {
    assertEquals(
        new DeviceBudget(size("1GiB"), size("2GiB"), size("2MiB"), 12),
        DEFAULTS.device().forCpu(12));
    assertEquals(4, DEFAULTS.device().forCpu(12, 3).lanes(), "they share the processors");
    assertEquals(
        new DeviceBudget(size("48MiB"), size("2GiB"), size("16MiB"), 2),
        DEFAULTS.device().forGpu(size("100MiB").bytes()),
        "60 % in whole pages");
  }

  @Test
  void device_budgetOfWhatIsSet_isTheSameOnEveryDevice() {
    DeviceConfig device =
        changed(
                Map.of(
                    "device.memory", "113MiB",
                    "device.page-size", "4MiB",
                    "device.lanes", "5"))
            .device();
    DeviceBudget budget = new DeviceBudget(size("112MiB"), size("2GiB"), size("4MiB"), 5);
    assertEquals(budget, device.forCpu(12));
    assertEquals(budget, device.forGpu(size("100MiB").bytes()));
  }

  @Test
  void device_everyValueChanged() {
    assertEquals(
        new DeviceConfig(
            new DeviceSelection.Cuda(List.of(1, 0)),
            Optional.of(size("115MiB")),
            size("1GiB"),
            size("8MiB"),
            Optional.of(size("64KiB")),
            3),
        changed(
                Map.of(
                    "device.kind", "cuda:1,0",
                    "device.memory", "115MiB",
                    "device.working-memory", "1GiB",
                    "device.ensemble-memory", "8MiB",
                    "device.page-size", "64KiB",
                    "device.lanes", "3"))
            .device());
  }

  @Test
  void link_defaults() {
    assertEquals(new LinkConfig(Bandwidth.UNLIMITED), DEFAULTS.link());
  }

  @Test
  void link_everyValueChanged() {
    assertEquals(
        new LinkConfig(new Bandwidth(2_000_000_000)),
        changed(Map.of("link.bandwidth", "2GB/s")).link());
  }

  @Test
  void switching_defaults() {
    assertEquals(
        new SwitchingConfig(
            SwitchingConfig.Grouping.OPTIMAL,
            SwitchingConfig.ReadInPlace.PROCESSOR,
            SwitchingConfig.ShareStructures.AUTO,
            true,
            false),
        DEFAULTS.switching());
  }

  @Test
  void switching_everyValueChanged() {
    assertEquals(
        new SwitchingConfig(
            SwitchingConfig.Grouping.WHOLE,
            SwitchingConfig.ReadInPlace.NONE,
            SwitchingConfig.ShareStructures.NEVER,
            false,
            true),
        changed(
                Map.of(
                    "switching.grouping", "whole",
                    "switching.read-in-place", "none",
                    "switching.share-structures", "never",
                    "switching.borrow-links", "false",
                    "switching.map-weights", "true"))
            .switching());
  }

  @Test
  void runtime_defaults() {
    assertEquals(
        new RuntimeConfig(
            Optional.empty(), 1, RuntimeConfig.Optimization.ALL, true, size("4MiB"), true, 2),
        DEFAULTS.runtime());
  }

  @Test
  void runtime_everyValueChanged() {
    assertEquals(
        new RuntimeConfig(
            Optional.of(Path.of("/opt/ort")),
            8,
            RuntimeConfig.Optimization.BASIC,
            false,
            size("1MiB"),
            false,
            9),
        changed(
                Map.of(
                    "runtime.library", "/opt/ort",
                    "runtime.threads", "8",
                    "runtime.optimization", "Basic",
                    "runtime.tf32", "false",
                    "runtime.cublas-workspace", "1MiB",
                    "runtime.capture", "false",
                    "runtime.capture-after", "9"))
            .runtime());
  }

  @Test
  void hostTier_defaults() {
    assertEquals(new HostTierConfig(size("2GiB"), size("1GiB"), true, true), DEFAULTS.hostTier());
  }

  @Test
  void hostTier_everyValueChanged() {
    assertEquals(
        new HostTierConfig(size("0"), size("5MiB"), false, false),
        changed(
                Map.of(
                    "host-tier.memory", "0",
                    "host-tier.states", "5MiB",
                    "host-tier.pipeline", "false",
                    "host-tier.read-ahead", "false"))
            .hostTier());
  }

  @Test
  void queue_defaults() {
    assertEquals(new QueueConfig(4096, size("512MiB")), DEFAULTS.queue());
  }

  @Test
  void queue_everyValueChanged() {
    QueueConfig queue =
        changed(Map.of("queue.max-requests", "64", "queue.max-bytes", "64MiB")).queue();
    assertEquals(new QueueConfig(64, size("64MiB")), queue);
    assertNotEquals(DEFAULTS.queue(), queue);
  }

  @Test
  void scheduling_defaults() {
    assertEquals(
        new SchedulingConfig(
            SchedulingConfig.Policy.SRTF,
            10,
            SchedulingConfig.FairMeasure.SERVICE,
            true,
            0,
            true,
            50,
            0,
            0),
        DEFAULTS.scheduling());
  }

  @Test
  void sharing_defaults() {
    assertEquals(
        new SharingConfig(
            SharingConfig.Protection.GATES,
            40,
            10,
            Optional.empty(),
            SharingConfig.Multiprocessors.OFF,
            10,
            new Percentages(List.of(5)),
            Duration.ofMillis(100),
            100,
            80,
            Duration.ofSeconds(1),
            Thresholds.OFF,
            Thresholds.OFF,
            new Thresholds(60, 50, 40),
            new Thresholds(95, 97, 99),
            new Thresholds(5, 10, 40),
            new Thresholds(95, 97, 99),
            new Thresholds(98, 95, 80)),
        DEFAULTS.sharing());
  }

  @Test
  void sharing_everyValueChanged() {
    assertEquals(
        new SharingConfig(
            SharingConfig.Protection.NONE,
            25,
            5,
            Optional.of(new ProcessorList(List.of(0, 1, 2, 7))),
            SharingConfig.Multiprocessors.ALWAYS,
            30,
            new Percentages(List.of(7, 15, 60)),
            Duration.ofMillis(5),
            90,
            70,
            Duration.ofSeconds(3),
            new Thresholds(80, 90, 100),
            new Thresholds(70, 80, 90),
            Thresholds.OFF,
            new Thresholds(50, 60, 70),
            new Thresholds(1, 2, 3),
            new Thresholds(4, 5, 6),
            new Thresholds(99, 98, 97)),
        changed(
                Map.ofEntries(
                    entry("sharing.protection", "none"),
                    entry("sharing.offline-memory-percent", "25"),
                    entry("sharing.offline-nice", "5"),
                    entry("sharing.offline-processors", "7,0-2"),
                    entry("sharing.multiprocessors", "always"),
                    entry("sharing.multiprocessors-percent", "30"),
                    entry("sharing.other-multiprocessors-percent", "7/15/60"),
                    entry("sharing.period", "5ms"),
                    entry("sharing.target-load-percent", "90"),
                    entry("sharing.clock-threshold-percent", "70"),
                    entry("sharing.overlimit-period", "3s"),
                    entry("sharing.utilization", "80/90/100"),
                    entry("sharing.activity", "70/80/90"),
                    entry("sharing.clock", "off"),
                    entry("sharing.memory", "50/60/70"),
                    entry("sharing.memory-pressure", "1/2/3"),
                    entry("sharing.host-memory", "4/5/6"),
                    entry("sharing.attainment", "99/98/97")))
            .sharing());
  }

  /** Nothing would hold offline work while online work alone is measured. */
  @Test
  void sharing_measuredShareWithoutGates_isRefusedAndTheMessageSaysWhatToSet() {
    Map<String, String> settings =
        Map.of("sharing.protection", "none", "sharing.multiprocessors", "measured");
    ConfigException refusal = assertThrows(ConfigException.class, () -> changed(settings));
    String message = String.valueOf(refusal.getMessage());
    assertTrue(message.contains("sharing.protection: gates"), message);
    assertTrue(message.contains("sharing.multiprocessors: always or off"), message);
  }

  @ParameterizedTest
  @ValueSource(strings = {"90", "90/95", "90/80/95", "90/95/101", "1000/1/1", "-1/-1/-1", "on"})
  void sharing_impossibleThresholds_areRefused(String text) {
    assertThrows(ConfigException.class, () -> changed(Map.of("sharing.memory", text)));
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "sharing.utilization",
        "sharing.activity",
        "sharing.memory",
        "sharing.memory-pressure",
        "sharing.host-memory"
      })
  void sharing_thresholdsOfWhatIsWorseTheMoreThereIsFall_areRefused(String key) {
    requireRefused(key, "99/97/95", "rise");
    changed(Map.of(key, "97/97/97"));
  }

  @ParameterizedTest
  @ValueSource(strings = {"sharing.clock", "sharing.attainment"})
  void sharing_thresholdsOfWhatIsWorseTheLessThereIsRise_areRefused(String key) {
    requireRefused(key, "95/97/99", "fall");
    changed(Map.of(key, "97/97/97"));
  }

  private static void requireRefused(String key, String text, String order) {
    ConfigException error = assertThrows(ConfigException.class, () -> changed(Map.of(key, text)));
    String message = String.valueOf(error.getMessage());
    assertTrue(message.contains(key), message);
    assertTrue(message.contains(text), message);
    assertTrue(message.contains("must " + order), message);
  }

  @Test
  void placement_offlineInterval_isZeroOrASecondAtLeast() {
    ConfigException error =
        assertThrows(
            ConfigException.class, () -> changed(Map.of("placement.offline-interval", "999ms")));

    assertEquals(
        "placement.offline-interval = 999ms (flag --placement.offline-interval) must be 0ms, or 1s at least: sooner nothing new is known of any job",
        error.getMessage());
    changed(Map.of("placement.offline-interval", "1s"));
    changed(Map.of("placement.offline-interval", "0ms"));
  }

  @ParameterizedTest
  @ValueSource(strings = {"", "-1", "3-1", "0-9999", "a", "1,,2", "1-"})
  void sharing_impossibleProcessors_areRefused(String text) {
    assertThrows(ConfigException.class, () -> changed(Map.of("sharing.offline-processors", text)));
  }

  @ParameterizedTest
  @ValueSource(strings = {"", "0", "5/101", "20/5", "5/5", "1/2/3/4/5", "5,20", "a", "5/"})
  void sharing_impossibleSizes_areRefused(String text) {
    assertThrows(
        ConfigException.class,
        () -> changed(Map.of("sharing.other-multiprocessors-percent", text)));
  }

  @Test
  void sharing_sizes_areThoseThatCanBeChosen() {
    String rule = "sharing.multiprocessors";
    String others = "sharing.other-multiprocessors-percent";
    assertEquals(List.of(), DEFAULTS.sharing().shareSizes());
    assertEquals(List.of(10), changed(Map.of(rule, "always")).sharing().shareSizes());
    assertEquals(List.of(5, 10), changed(Map.of(rule, "measured")).sharing().shareSizes());
    assertEquals(
        List.of(5, 10, 20),
        changed(Map.of(rule, "measured", others, "5/20")).sharing().shareSizes());
    assertEquals(
        List.of(10, 15), changed(Map.of(rule, "measured", others, "10/15")).sharing().shareSizes());
    assertEquals(
        List.of(10), changed(Map.of(rule, "measured", others, "off")).sharing().shareSizes());
  }

  @Test
  void sharing_processors_areWrittenAsTheyAreRead() {
    String text = changed(Map.of("sharing.offline-processors", "5,0-2,3")).sharing().toString();
    assertTrue(text.contains("0-3,5"), text);
  }

  @Test
  void scheduling_everyValueChanged() {
    assertEquals(
        new SchedulingConfig(
            SchedulingConfig.Policy.PACK,
            0,
            SchedulingConfig.FairMeasure.MEMORY,
            false,
            20,
            false,
            0,
            2,
            3),
        changed(
                Map.of(
                    "scheduling.policy", "pack",
                    "scheduling.ageing-percent", "0",
                    "scheduling.fair-measure", "memory",
                    "scheduling.fair-work-conserving", "false",
                    "scheduling.offline-share-percent", "20",
                    "scheduling.preemption", "false",
                    "scheduling.short-run-micros", "0",
                    "scheduling.least-lanes", "2",
                    "scheduling.restarts", "3"))
            .scheduling());
  }
}
