package io.pipelane.loadgen;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Files that cannot be written are refused before anything is measured: here nobody listens. */
class OutputFilesTest {
  @TempDir private Path folder;
  private final Console console = new Console();

  @ParameterizedTest
  @ValueSource(strings = {"--json", "-f", "--hgrm", "--hlog", "--html"})
  void measurement_fileThatIsAFolderOrBelowAFile_isRefused(String option) throws Exception {
    Path file = Files.createFile(folder.resolve("taken"));
    for (Path wrong : List.of(folder, file.resolve("below"))) {
      String arguments = "-u 127.0.0.1:1 -m m --concurrency 1 %s %s".formatted(option, wrong);

      assertEquals(ExitStatus.WRONG_OPTION, console.loadgen(arguments), console::toString);
      assertTrue(console.err.toString().contains(wrong + " is not a file"), console::toString);
    }
  }

  @Test
  void comparison_fileThatIsAFolder_isRefused() {
    String arguments = "http://127.0.0.1:1 http://127.0.0.1:2 -m m --concurrency 1 --html ";

    assertEquals(
        ExitStatus.WRONG_OPTION,
        console.run(new CompareCommand(), arguments + folder),
        console::toString);
    assertTrue(console.err.toString().contains(folder + " is not a file"), console::toString);
  }
}
