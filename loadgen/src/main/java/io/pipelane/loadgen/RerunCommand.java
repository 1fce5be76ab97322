package io.pipelane.loadgen;

import com.fasterxml.jackson.databind.JsonNode;
import io.pipelane.loadgen.report.HtmlReport;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Parameters;

/** {@code loadgen rerun}: measures again what a result file holds, in the same way. */
@Command(
    name = "rerun",
    description = {
      "Measures once more what a result that --json has written holds: the same load, models,"
          + " inputs",
      "and seeds. Only what is written where can be said anew."
    },
    mixinStandardHelpOptions = true,
    sortOptions = false)
public final class RerunCommand implements Subcommand {
  @Parameters(arity = "1", paramLabel = "RESULT", description = "The result file.")
  private Path result = Path.of("result.json");

  @Mixin private OutputOptions output = new OutputOptions();

  @Override
  public Integer call() throws IOException {
    List<String> arguments = new ArrayList<>();
    for (JsonNode argument : new HtmlReport().read(result).path("arguments")) {
      arguments.add(argument.asText());
    }
    arguments.addAll(output.fileArguments());
    return Loadgen.execute(arguments.toArray(String[]::new));
  }
}
