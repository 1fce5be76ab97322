package io.pipelane.loadgen;

import com.fasterxml.jackson.databind.JsonNode;
import io.pipelane.loadgen.report.HtmlReport;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** {@code loadgen rerun}: measures again what a result file holds, in the same way. */
@Command(
    name = "rerun",
    description = {
      "Measures once more what a result that --json has written holds: the same load, models, inputs",
      "and seeds. Only the server and what is written where can be said anew. Files that it read",
      "(--trace, --input-data) are read again, and have to be as they were."
    },
    mixinStandardHelpOptions = true,
    sortOptions = false)
public final class RerunCommand implements Subcommand {
  @Parameters(arity = "1", paramLabel = "RESULT", description = "The result file.")
  private Path result = Path.of("result.json");

  @Option(
      names = {"-u", "--url"},
      paramLabel = "URL",
      description = "Measure this server instead.")
  private @Nullable String url;

  @Option(
      names = {"-H", "--header"},
      paramLabel = "NAME:VALUE",
      description = "A header for every request; results do not keep them.")
  private List<String> headers = new ArrayList<>();

  @Mixin private FileOptions files = new FileOptions();

  @Override
  public Integer call() throws IOException {
    JsonNode measured = new HtmlReport().read(result);
    List<String> arguments = new ArrayList<>();
    for (JsonNode argument : measured.path("arguments")) {
      arguments.add(argument.asText());
    }
    if (arguments.isEmpty() || !isMeasurement(arguments.getFirst())) {
      throw new IllegalArgumentException(
          "%s holds no measurement that could be made again: its \"arguments\" are %s"
              .formatted(result, arguments));
    }
    if (url != null) {
      if (arguments.getFirst().equals("compare")) {
        throw new IllegalArgumentException(
            "--url: %s is of a comparison, which asks the servers that it names".formatted(result));
      }
      replaceUrl(arguments, url);
    }
    if (arguments.stream().noneMatch(RerunCommand::choosesModels)) {
      addModels(arguments, measured);
    }
    headers.forEach(header -> arguments.addAll(List.of("-H", header)));
    arguments.addAll(files.arguments());
    return Loadgen.execute(arguments.toArray(String[]::new));
  }

  /** A file may come from anywhere: whatever else the load generator can do is not done for it. */
  private static boolean isMeasurement(String first) {
    return first.startsWith("-") || first.equals("compare");
  }

  private static boolean choosesModels(String argument) {
    return argument.startsWith("-m")
        || argument.startsWith("--model=")
        || argument.equals("--model")
        || argument.startsWith("--trace");
  }

  /** Those that were asked, in their order: the server may have others by now. */
  private static void addModels(List<String> arguments, JsonNode measured) {
    for (JsonNode model : measured.at("/steps/0/runs/0/models")) {
      arguments.addAll(List.of("-m", model.path("model").asText()));
    }
  }

  private static void replaceUrl(List<String> arguments, String url) {
    for (String name : List.of("-u", "--url")) {
      arguments.removeIf(argument -> isWithValue(argument, name));
      int position = arguments.indexOf(name);
      if (position >= 0) {
        arguments.subList(position, Math.min(position + 2, arguments.size())).clear();
      }
    }
    arguments.addAll(List.of("--url", url));
  }

  /** {@code -uURL} or {@code --url=URL}. */
  private static boolean isWithValue(String argument, String name) {
    return name.startsWith("--")
        ? argument.startsWith(name + "=")
        : argument.startsWith(name) && argument.length() > name.length();
  }
}
