package io.pipelane.server.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.File;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** {@code bin/pipelane} of a checkout that is built, in environments unlike ours. */
@Timeout(value = 2, unit = TimeUnit.MINUTES)
class StartScriptTest {
  private static final Path SCRIPTS = Path.of("..", "bin");

  @TempDir private Path folder = Path.of("");

  @BeforeEach
  void aBuiltCheckout() throws IOException {
    assumeTrue(Files.isDirectory(SCRIPTS), "tests run beside the sources");
    try (Stream<Path> scripts = Files.walk(SCRIPTS)) {
      scripts.forEach(this::copy);
    }
    Path built = Files.createDirectories(folder.resolve("target/bin"));
    String classes = Path.of(System.getProperty("java.class.path")).toAbsolutePath() + "\n";
    Files.writeString(built.resolve("demo.classpath"), classes);
  }

  private void copy(Path script) {
    try {
      Files.copy(script, folder.resolve("bin").resolve(SCRIPTS.relativize(script)));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  @Test
  void namesOfFiles_areReadWhateverTheLocale() throws Exception {
    assumeTrue(
        "UTF-8".equals(System.getProperty("sun.jnu.encoding")),
        "this process can pass no such names on");
    for (String locale : List.of("C", "no_SUCH.locale")) {
      Ended ended = run("", Map.of("LC_ALL", locale), "--repository.cache", "/größer/ø");
      assertEquals(0, ended.status, ended.said);
      assertTrue(ended.said.contains("/größer/ø"), ended.said);
    }
  }

  @Test
  void jdkInAUsualFolder_isLookedForWithoutAHome() throws Exception {
    Ended ended = run("export -n JAVA_HOME; unset HOME;", Map.of());
    assertTrue(!ended.said.contains("unbound"), ended.said);
  }

  @Test
  void tooFewOpenFiles_areRefusedWithBothNumbers() throws Exception {
    Ended ended = run("ulimit -n 128;", Map.of());
    assertEquals(1, ended.status, ended.said);
    assertEquals(
        "Pipelane may open 128 files at a time and needs at least 256; raise the hard limit (ulimit -Hn).\n",
        ended.said);
  }

  /** What lives for long is compiled early; what ends soon would lose by it. */
  @Test
  void serversAlone_areCompiledEarly() throws Exception {
    Map<String, String> tellsFlags = Map.of("JAVA_OPTS", "-XX:+PrintCommandLineFlags");
    for (String command : List.of("serve", "demo", "config", "models")) {
      Ended ended = run(command, "", tellsFlags, "--help");
      assertEquals(0, ended.status, ended.said);
      assertEquals(
          List.of("serve", "demo").contains(command),
          ended.said.contains("-XX:CompileThresholdScaling=0.25"),
          ended.said);
    }
  }

  private record Ended(int status, String said) {}

  /** Has it print its configuration; {@code before} is what a shell does first. */
  private Ended run(String before, Map<String, String> environment, String... flags)
      throws Exception {
    return run("config", before, environment, flags);
  }

  private Ended run(
      String command, String before, Map<String, String> environment, String... arguments)
      throws Exception {
    ProcessBuilder builder =
        new ProcessBuilder(
            Stream.concat(
                    Stream.of("bash", "-c", before + " exec bin/pipelane \"$@\"", "bash", command),
                    Stream.of(arguments))
                .toList());
    builder.directory(folder.toFile()).redirectErrorStream(true);
    builder.environment().keySet().retainAll(List.of("PATH"));
    builder.environment().put("HOME", folder.toString());
    builder.environment().put("JAVA_HOME", System.getProperty("java.home"));
    builder.environment().putAll(environment);
    File said = folder.resolve("said").toFile();
    Process process = builder.redirectOutput(said).start();
    int status = process.waitFor();
    return new Ended(status, Files.readString(said.toPath(), StandardCharsets.UTF_8));
  }
}
