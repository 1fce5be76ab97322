package io.pipelane.bench.report;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

class ReportOptionsTest {
  @TempDir private Path folder;

  @Command(name = "measure")
  static final class Measure implements Callable<Integer> {
    @Spec private CommandSpec spec = CommandSpec.create();
    @Mixin private ReportOptions options = new ReportOptions();

    @Option(names = "--of")
    private String of = "";

    @Override
    public Integer call() throws Exception {
      Results results = new Results("Of " + of, List.of(), List.of());
      options.publish(spec, results, "1.2.3", Map.of());
      return 0;
    }
  }

  @Test
  void page_endsWithTheCommandThatMakesIt() throws Exception {
    Path page = folder.resolve("page.md");
    CommandLine program =
        new CommandLine(CommandSpec.create().name("loadgen"))
            .addSubcommand(new Measure())
            .setOut(new PrintWriter(new StringWriter()));
    assertEquals(0, program.execute("measure", "--of", "it's all", "--markdown=" + page));
    String text = Files.readString(page);
    String command = "    bin/loadgen measure --of 'it'\\''s all' --markdown=" + page + "\n";
    assertTrue(text.endsWith("\nMade by:\n\n" + command), text);
  }
}
