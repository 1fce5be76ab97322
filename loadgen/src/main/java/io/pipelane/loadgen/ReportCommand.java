package io.pipelane.loadgen;

import com.fasterxml.jackson.databind.node.ObjectNode;
import io.pipelane.loadgen.report.HtmlReport;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** {@code loadgen report}: a page about results that were written before. */
@Command(
    name = "report",
    description = "Shows results that --json has written side by side, as one page with charts.",
    mixinStandardHelpOptions = true,
    sortOptions = false)
public final class ReportCommand implements Subcommand {
  @Spec private CommandSpec spec = CommandSpec.create();

  @Parameters(
      arity = "1..*",
      paramLabel = "RESULT",
      description = "Result files; others are compared with the first.")
  private List<Path> results = new ArrayList<>();

  @Option(
      names = "--html",
      paramLabel = "FILE",
      defaultValue = ".pipelane/report.html",
      description = "Where the page is written (${DEFAULT-VALUE}).")
  private Path html = Path.of(".pipelane", "report.html");

  @Override
  public Integer call() throws IOException {
    HtmlReport report = new HtmlReport();
    List<ObjectNode> trees = new ArrayList<>();
    for (Path result : results) {
      trees.add(report.read(result));
    }
    report.write(FileOptions.parent(html), trees);
    spec.commandLine().getOut().println(html);
    spec.commandLine().getOut().flush();
    return ExitStatus.OK.code();
  }
}
