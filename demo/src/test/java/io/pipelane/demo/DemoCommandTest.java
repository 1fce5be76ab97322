package io.pipelane.demo;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.demo.model.DemoModel;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import picocli.CommandLine;

class DemoCommandTest {
  private final StringWriter out = new StringWriter();
  private final StringWriter err = new StringWriter();

  @Test
  void stay_answersEverythingAndPrintsCommandsThatWork(@TempDir Path folder) throws Exception {
    StringWriter replies = new StringWriter();
    FakeServer server = new FakeServer(() -> replies.append(pasteAll(out.toString())));
    Process worker = new ProcessBuilder("sleep", "600").start();
    server.runsModelsIn(worker.pid());

    int exit = run(server, "--stay", "--http-port", "0", "--repository", folder + "/demo's models");

    assertEquals(0, exit, err.toString());
    assertTrue(out.toString().contains("It says \"Served by Pipelane\"."), out.toString());
    assertTrue(out.toString().contains("\"Lessons for string instruments"), out.toString());
    assertEquals(DemoModel.values().length, Set.copyOf(server.evicted()).size());
    assertEquals(128 + 9, worker.waitFor(), "the process that models ran in is killed");
    assertTrue(out.toString().contains("30 of 30 answers"), out.toString());
    if (!replies.toString().equals("no curl")) {
      List<String> lines = replies.toString().lines().toList();
      assertEquals(6, lines.size(), replies.toString());
      for (String line : lines.subList(3, 6)) {
        assertTrue(line.startsWith("{\"outputs\":[{\"name\":"), line);
      }
    }
  }

  @Test
  void refusedModel_endsWithItsReason(@TempDir Path folder) {
    FakeServer server = new FakeServer(() -> {}, Map.of("ppocr-cls", "operator Foo is unknown"));

    int exit = run(server, "--repository", folder.toString());

    assertEquals(1, exit);
    assertTrue(
        err.toString().contains("refused ppocr-cls version 1: operator Foo is unknown"),
        err.toString());
  }

  @Test
  void repositoryThatCannotBeWritten_isNamedWithWhatToDo(@TempDir Path folder) throws Exception {
    Path repository = Files.createFile(folder.resolve("file")).resolve("models");

    int exit = run(new FakeServer(() -> {}), "--repository", repository.toString());

    assertEquals(1, exit);
    assertTrue(err.toString().contains("cannot be written to " + repository), err.toString());
    assertTrue(err.toString().contains("name a folder that can be with --repository"));
  }

  @Test
  void unreadableMemory_isRefusedWithTheValue() {
    int exit = run(new FakeServer(() -> {}), "--memory", "lots");

    assertEquals(2, exit);
    assertTrue(err.toString().contains("\"lots\" is not a size"), err.toString());
  }

  @Test
  void defaultMemory_isLargestModelAndAQuarter() {
    assertEquals("52MiB", DemoCommand.defaultMemory("cpu", null).toString(), "tables are no part");
    assertEquals("108MiB", DemoCommand.defaultMemory("cpu", "process").toString());
    assertEquals("112MiB", DemoCommand.defaultMemory("cuda", null).toString(), "pages of 16 MiB");
  }

  private int run(FakeServer server, String... arguments) {
    return new CommandLine(new DemoCommand(() -> server))
        .setOut(new PrintWriter(out))
        .setErr(new PrintWriter(err))
        .execute(arguments);
  }

  /** Runs what the report says to paste, as a shell would. */
  private static String pasteAll(String report) {
    String commands = report.substring(report.indexOf("\n# "));
    try {
      if (new ProcessBuilder("sh", "-c", "command -v curl").start().waitFor() != 0) {
        return "no curl";
      }
      Process shell = new ProcessBuilder("sh", "-c", commands).redirectErrorStream(true).start();
      return new String(shell.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    } catch (Exception e) {
      throw new IllegalStateException(e);
    }
  }
}
