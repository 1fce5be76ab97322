package io.pipelane.loadgen;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.loadgen.zoo.ZooModel;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Locale;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import picocli.CommandLine;

class ZooCommandTest {
  private final StringWriter out = new StringWriter();
  private final StringWriter err = new StringWriter();
  @TempDir private Path folder;

  @Test
  void shouldListAllModels() {
    assertEquals(ExitStatus.OK.code(), execute("--list"));

    for (ZooModel model : ZooModel.values()) {
      String parameters = String.format(Locale.ROOT, "%,d parameters", model.parameters());
      assertTrue(out.toString().contains(model.label()), out.toString());
      assertTrue(out.toString().contains(parameters), out.toString());
      assertTrue(out.toString().contains(model.source()), out.toString());
    }
  }

  @Test
  void shouldWriteARepositoryAndSaySo() throws Exception {
    assertEquals(
        ExitStatus.OK.code(), execute("densenet201", "--out", folder.toString(), "--seed", "3"));

    long size = Files.size(folder.resolve("densenet201/1/model.onnx"));
    String megabytes = String.format(Locale.ROOT, "%.1f MB", size / 1e6);
    assertTrue(out.toString().contains(megabytes), out.toString());
  }

  @Test
  void shouldWriteNothingWhenANameIsWrong() throws Exception {
    assertEquals(
        CommandLine.ExitCode.USAGE, execute("densenet201", "lenet", "--out", folder.toString()));

    assertTrue(err.toString().contains("there is no model \"lenet\""), err.toString());
    try (var written = Files.list(folder)) {
      assertEquals(0, written.count());
    }
  }

  @Test
  void shouldExitWithThreeWhenNoNameIsGiven() {
    assertEquals(ExitStatus.WRONG_OPTION.code(), Loadgen.execute("zoo"));
  }

  private int execute(String... arguments) {
    CommandLine commandLine = new CommandLine(new ZooCommand());
    commandLine.setOut(new PrintWriter(out));
    commandLine.setErr(new PrintWriter(err));
    return commandLine.execute(arguments);
  }
}
