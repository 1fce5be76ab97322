package io.pipelane.config.section;

import static io.pipelane.config.section.SectionValues.DEFAULTS;
import static io.pipelane.config.section.SectionValues.changed;
import static io.pipelane.config.section.SectionValues.size;
import static java.util.Map.entry;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.config.ConfigException;
import io.pipelane.config.value.Addresses;
import io.pipelane.config.value.HostName;
import io.pipelane.config.value.Ratio;
import io.pipelane.config.value.Text;
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

/** Sections of what clients and other hosts meet: by default, and every value changed. */
class FrontEndSectionsTest {
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
            Optional.empty(),
            10_000,
            Duration.ofSeconds(60),
            Duration.ofSeconds(30)),
        DEFAULTS.server());
  }

  @Test
  void transferMemory_unsetOrSet_followsTheDevice() {
    assertEquals(size("128MiB"), DEFAULTS.server().transferMemoryForCpu());
    assertEquals(size("512MiB"), DEFAULTS.server().transferMemoryForGpus());
    ServerConfig changed = changed(Map.of("server.transfer-memory", "1GiB")).server();
    assertEquals(size("1GiB"), changed.transferMemoryForCpu());
    assertEquals(size("1GiB"), changed.transferMemoryForGpus());
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
            Optional.of(size("256MB")),
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
  @ValueSource(strings = {"server.tls-certificate", "server.tls-key"})
  void tlsSettings_comeTogether(String alone) {
    ConfigException error =
        assertThrows(ConfigException.class, () -> changed(Map.of(alone, "some.pem")));
    assertTrue(String.valueOf(error.getMessage()).contains("set both, or neither"));
  }

  /** A certificate without authorities is fine, so "both, or neither" would be wrong advice. */
  @Test
  void tlsClientAuthorities_needACertificate() {
    ConfigException error =
        assertThrows(
            ConfigException.class,
            () -> changed(Map.of("server.tls-client-authorities", "some.pem")));
    assertTrue(
        error
            .getMessage()
            .endsWith("needs server.tls-certificate: set that too, or leave this out"),
        error::getMessage);
  }

  @ParameterizedTest
  @CsvSource({"8000, server.http-port = 8000", "8001, server.grpc-port = "})
  void managementPort_thatIsAnotherOnes_namesBoth(String port, String other) {
    ConfigException error =
        assertThrows(
            ConfigException.class, () -> changed(Map.of("security.management-port", port)));
    assertTrue(
        error.getMessage().startsWith("security.management-port = " + port), error::getMessage);
    assertTrue(error.getMessage().contains(other), error::getMessage);
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
}
