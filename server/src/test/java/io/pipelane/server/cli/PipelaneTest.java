package io.pipelane.server.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.dataformat.yaml.YAMLFactory;
import io.pipelane.config.ConfigTemplate;
import io.pipelane.config.Settings;
import io.pipelane.server.cli.CommandLineFixture.Outcome;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class PipelaneTest {
  @ParameterizedTest
  @ValueSource(strings = {"serve", "config", "models", "infer", "version"})
  void help_ofEverySubcommand_isPrinted(String subcommand) {
    Outcome outcome = CommandLineFixture.run(subcommand, "--help");
    assertEquals(0, outcome.exitCode(), outcome::err);
    assertTrue(outcome.out().startsWith("Usage: pipelane " + subcommand), outcome::out);
    assertTrue(CommandLineFixture.run("--help").out().contains("\n  " + subcommand));
  }

  @Test
  void help_ofSubcommandsOfSubcommands_isPrinted() {
    Pipelane.commandLine()
        .getSubcommands()
        .forEach(
            (name, command) ->
                command
                    .getSubcommands()
                    .keySet()
                    .forEach(
                        nested -> {
                          Outcome outcome = CommandLineFixture.run(name, nested, "--help");
                          assertEquals(0, outcome.exitCode(), outcome::err);
                          String usage = "Usage: pipelane " + name + " " + nested;
                          assertTrue(outcome.out().startsWith(usage), outcome::out);
                        }));
    assertTrue(CommandLineFixture.run("jobs", "submit", "-h").out().contains("--version=VERSION"));
  }

  @Test
  void help_ofServe_namesEverySetting() {
    String help = CommandLineFixture.run("serve", "--help").out();
    Settings.all().forEach(s -> assertTrue(help.contains("--" + s.key()), s.key()));
    assertTrue(help.contains("--memory, --device.memory=VALUE"), help);
    assertTrue(help.contains("${XDG_CACHE_HOME:-~/.cache}/pipelane"), help);
  }

  @ParameterizedTest
  @ValueSource(strings = {"", "frobnicate", "serve --frobnicate", "infer", "config --memory"})
  void wrongUsage_exitsWith2AndSaysHow(String line) {
    Outcome outcome = CommandLineFixture.run(line.isEmpty() ? new String[0] : line.split(" "));
    assertEquals(2, outcome.exitCode());
    assertTrue(outcome.err().contains("\nTry: pipelane"), outcome::err);
  }

  @Test
  void subcommand_ofAnotherModule_isFoundAsService() {
    assertEquals("hello\n", CommandLineFixture.run("greet", "hello").out());
    assertTrue(CommandLineFixture.run("greet", "--help").out().startsWith("Usage: pipelane greet"));
  }

  @Test
  void key_entry_isWhatKeyFilesHave() throws IOException {
    Outcome outcome = CommandLineFixture.run("key", "1.0", "--model", "a\"b*");

    assertEquals(0, outcome.exitCode(), outcome::err);
    String entry = outcome.out().substring(outcome.out().indexOf("  - name"));
    JsonNode key = new ObjectMapper(new YAMLFactory()).readTree("keys:\n" + entry).at("/keys/0");
    assertTrue(key.path("name").isTextual(), entry);
    assertEquals("a\"b*", key.at("/models/0").asText());
    for (String wrong : List.of("", "a:b", "a\nb")) {
      assertEquals(2, CommandLineFixture.run("key", wrong).exitCode());
    }
    assertEquals(2, CommandLineFixture.run("key", "a", "--model", "").exitCode());
  }

  @Test
  void import_ofEmptyFolder_saysSo(@TempDir Path folder) {
    Outcome outcome = CommandLineFixture.run("import", "--repository", folder.toString());

    assertEquals(0, outcome.exitCode(), outcome::err);
    assertEquals("There are no models in " + folder, outcome.out().strip());
  }

  @Test
  void config_withFileAndFlags_printsWhatHolds(@TempDir Path folder) throws IOException {
    Path file = Files.writeString(folder.resolve("p.yaml"), "device:\n  memory: 64MiB\n  lanes: 3");
    Outcome outcome =
        CommandLineFixture.run(
            "config", "--config", file.toString(), "--memory", "128MiB", "--queue.max-requests=9");
    assertEquals(0, outcome.exitCode(), outcome::err);
    assertTrue(outcome.out().contains("  memory: 128MiB "), outcome::out);
    assertTrue(
        outcome.out().contains("# flag --device.memory (default 1GiB on the CPU, "), outcome::out);
    assertTrue(outcome.out().contains("p.yaml line 3 (default 0)"), outcome::out);
    assertTrue(outcome.out().contains("  max-requests: 9 "), outcome::out);
  }

  @Test
  void config_template_isTheReadyMadeFile() {
    assertEquals(ConfigTemplate.render(), CommandLineFixture.run("config", "--template").out());
  }

  @Test
  void config_impossibleValue_isOneLineAndExit2() {
    Outcome outcome = CommandLineFixture.run("config", "--memory", "lots");
    assertEquals(2, outcome.exitCode());
    assertTrue(
        outcome.err().startsWith("pipelane config: flag --device.memory: device.memory = \"lots\""),
        outcome::err);
    assertEquals(1, outcome.err().lines().count());
  }

  @Test
  void serve_withoutRepository_saysWhatIsMissing() {
    Outcome outcome = CommandLineFixture.run("serve");
    assertEquals(2, outcome.exitCode());
    assertTrue(outcome.err().contains("--repository DIR"), outcome::err);
    assertFalse(outcome.err().contains("\tat "), outcome::err);
  }

  @Test
  void help_asACommand_isTheUsage() {
    Outcome outcome = CommandLineFixture.run("help");
    assertEquals(0, outcome.exitCode(), outcome::err);
    assertEquals(CommandLineFixture.run("--help").out(), outcome.out());
    assertTrue(CommandLineFixture.run("help", "key").out().startsWith("Usage: pipelane key"));
  }

  @Test
  void devices_measuresOnceAndKeepsIt(@TempDir Path cache) {
    String[] line = {"devices", "--repository.cache", cache.toString(), "--device.memory", "64MiB"};
    Outcome first = CommandLineFixture.run(line);
    assertEquals(0, first.exitCode(), first::err);
    assertTrue(first.out().contains("; 64MiB for weights in pages of 2MiB"), first::out);
    assertTrue(first.out().contains("\ncpu, measured now\n  copies from host"), first::out);
    assertTrue(first.out().contains(" GFLOP/s, by ONNX Runtime"), first::out);
    Outcome second = CommandLineFixture.run(line);
    assertTrue(second.out().contains("\ncpu, measured before\n"), second::out);
  }

  @Test
  void version_namesWhatRunsHere() {
    Outcome outcome = CommandLineFixture.run("version");
    assertEquals(0, outcome.exitCode(), outcome::err);
    for (String part : new String[] {"Pipelane", "ONNX Runtime", "Java", "System", "Processor"}) {
      assertTrue(outcome.out().contains(part + "  "), outcome::out);
    }
    assertTrue(outcome.out().contains(Runtime.version().toString()), outcome::out);
  }
}
