package io.pipelane.config;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.config.section.ServerConfig;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class ConfigLoaderTest {
  @TempDir private Path folder;

  private Path file(String yaml) throws IOException {
    return Files.writeString(folder.resolve("pipelane.yaml"), yaml);
  }

  private static String failure(Path file) {
    return assertThrows(ConfigException.class, () -> ConfigLoader.load(file, Map.of(), Map.of()))
        .getMessage();
  }

  private static String flagFailure(String key, String value) {
    return assertThrows(ConfigException.class, () -> PipelaneConfig.of(Map.of(key, value)))
        .getMessage();
  }

  private static void assertMentions(String message, String... parts) {
    for (String part : parts) {
      assertTrue(message.contains(part), () -> "\"" + part + "\" is missing in: " + message);
    }
  }

  @Test
  void load_sameKeyEverywhere_flagWinsOverVariableOverFileOverDefault() throws IOException {
    Path file = file("server:\n  http-port: 1\n  event-loops: 1\n  max-connections: 1\n");
    Map<String, String> variables =
        Map.of("PIPELANE_SERVER_HTTP_PORT", "2", "PIPELANE_SERVER_EVENT_LOOPS", "2");
    ServerConfig server =
        ConfigLoader.load(file, variables, Map.of("server.http-port", "3")).config().server();
    assertEquals(3, server.httpPort());
    assertEquals(2, server.eventLoops());
    assertEquals(1, server.maxConnections());
    assertEquals("127.0.0.1", server.host().text());
  }

  @Test
  void load_dottedKeysInFile_meanTheSameAsNested() throws IOException {
    Path file = file("server.http-port: 81\ndevice:\n  kind: cuda:0,1\nqueue:\n");
    PipelaneConfig config = ConfigLoader.load(file, Map.of(), Map.of()).config();
    assertEquals(81, config.server().httpPort());
    assertEquals("cuda:0,1", config.device().kind().toString());
  }

  @ParameterizedTest
  @ValueSource(strings = {"", "# nothing\n", "---\n", "server:\n  # host: x\n"})
  void load_fileWithoutValues_isDefaults(String yaml) throws IOException {
    assertEquals(
        PipelaneConfig.defaults(), ConfigLoader.load(file(yaml), Map.of(), Map.of()).config());
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "server.http-port | 65536   | from 0 to 65535",
        "server.http-port | eighty  | a whole number",
        "server.host      | a b     | a host name",
        "server.transport | kqueue  | auto | io_uring",
        "server.max-request-size | 2GiB | to 1GiB",
        "server.idle-timeout | 60   | a duration like",
        "server.idle-timeout | 60GB | a duration like",
        "device.memory    | 10s     | a size like",
        "device.page-size | 3MiB    | a power of two",
        "device.kind      | cuda:0,0 | cuda:0,1",
        "device.lanes     | -1      | from 0 to 256",
        "link.bandwidth   | 2GB     | a size per second",
        "link.bandwidth   | 0B/s    | a size per second",
        "runtime.capture  | yes     | true | false",
        "repository.path  | ''      | a path",
      })
  void load_impossibleValue_namesOriginKeyValueAndRange(String key, String value, String allowed) {
    assertMentions(
        flagFailure(key, value),
        "flag --" + key,
        key + " = \"" + value + "\"",
        "allowed is",
        allowed);
  }

  @Test
  void load_wrongUnitInFile_namesFileAndLine() throws IOException {
    Path file = file("# sizes\ndevice:\n  lanes: 2\n  memory: 128 parsecs\n");
    assertMentions(failure(file), file + " line 4", "device.memory = \"128 parsecs\"", "128MiB");
  }

  @Test
  void load_unknownKey_suggestsTheClosest() throws IOException {
    Path file = file("server:\n  htpp-port: 8000\n");
    assertMentions(failure(file), file + " line 2", "did you mean server.http-port?");
    assertMentions(flagFailure("device.memroy", "1GiB"), "did you mean device.memory?");
    assertEquals("flag --frobnicate: the key frobnicate is unknown", flagFailure("frobnicate", ""));
  }

  @Test
  void load_unknownVariable_suggestsTheClosest() {
    Map<String, String> variables = Map.of("PIPELANE_SERVER_PROT", "1");
    ConfigException error =
        assertThrows(ConfigException.class, () -> ConfigLoader.load(null, variables, Map.of()));
    assertMentions(error.getMessage(), "variable PIPELANE_SERVER_PROT", "did you mean PIPELANE_");
    Map<String, String> name = Map.of("PIPELANE_REPOSITORY_MODLE_NAME", "m");
    error = assertThrows(ConfigException.class, () -> ConfigLoader.load(null, name, Map.of()));
    assertMentions(error.getMessage(), "did you mean PIPELANE_REPOSITORY_MODEL_NAME?");
  }

  /** Kubernetes sets variables of such names, to addresses. */
  @Test
  void load_unknownVariableOfAPort_isNoServicesIfItIsANumber() {
    for (String name : List.of("PIPELANE_PORT", "PIPELANE_SERVER_PORT")) {
      Map<String, String> variables = Map.of(name, "9000");
      ConfigException error =
          assertThrows(ConfigException.class, () -> ConfigLoader.load(null, variables, Map.of()));
      assertMentions(error.getMessage(), "variable " + name + " is not a setting");
    }
  }

  @Test
  void load_variablesThatKubernetesSets_areNoSettings() {
    Map<String, String> variables =
        Map.of(
            "PIPELANE_SERVICE_HOST", "10.0.0.1",
            "PIPELANE_SERVICE_PORT_HTTP", "8000",
            "PIPELANE_PORT", "tcp://10.0.0.1:8000",
            "PIPELANE_SERVER_PORT_8000_TCP_ADDR", "10.0.0.1",
            "PIPELANE_SERVER_PORT_8000_TCP", "tcp://10.0.0.1:8000",
            "PIPELANE_SERVER_HTTP_PORT", "tcp://10.0.0.1:8000",
            "PIPELANE_CACHE_ENDPOINT", "udp://10.0.0.1:53",
            "PIPELANE_CACHE_NAME", "/web/pipelane-cache",
            "PIPELANE_CACHE_ENV_JAVA_HOME", "/opt/java",
            "UNRELATED", "x");
    assertEquals(PipelaneConfig.defaults(), ConfigLoader.load(null, variables, Map.of()).config());
  }

  @Test
  void load_contradiction_namesBothSettings() {
    assertMentions(
        flagFailure("device.memory", "1MiB"),
        "device.page-size = 2MiB on the CPU, 16MiB on a GPU (default)",
        "device.memory = 1MiB (flag --device.memory)");
    assertMentions(
        flagFailure("server.max-request-size", "1GiB"), "queue.max-bytes = 512MiB (default)");
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "'- a\n- b\n'                        | key: value",
        "'server:\n  host: [a, b]\n'         | single value",
        "'server:\n  host:\n'                | has no value",
        "'server:\n  host: a\nserver.host: b\n' | set already by",
        "'server: \"a\n'                      | not valid YAML",
        "'a: 1\n---\nb: 2\n'                 | more than one",
        "'server: 5\n'                       | server is unknown",
        "'server:\n  host:\n    name: x\n'   | server.host.name is unknown",
      })
  void load_malformedFile_saysWhatIsWrong(String yaml, String complaint) throws IOException {
    assertMentions(failure(file(yaml)), "pipelane.yaml", complaint);
  }

  @Test
  void load_missingOrOversizedFile_isRefused() throws IOException {
    assertMentions(
        failure(folder.resolve("absent.yaml")), "there is no configuration file", "absent.yaml");
    assertMentions(failure(file("#".repeat((1 << 20) + 1))), "longer than 1MiB");
  }
}
