package io.pipelane.loadgen;

import com.fasterxml.jackson.databind.JsonNode;
import io.pipelane.loadgen.report.HtmlReport;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** {@code loadgen rerun}: measures again what a result file holds, in the same way. */
@Command(
    name = "rerun",
    description = {
      "Measures once more what a result that --json has written holds: the same load, "
          + "models, inputs and seeds.",
      "Only the server and what is written where can be said anew.",
      "Files that it read, like those of --trace and --input-data, are read again; when "
          + "one is not what it was, by its SHA-256, nothing is measured: status 3."
    },
    mixinStandardHelpOptions = true,
    sortOptions = false)
public final class RerunCommand implements Subcommand {
  @Spec private CommandSpec spec = CommandSpec.create();

  @Parameters(arity = "1", paramLabel = "RESULT", description = "The result file.")
  private Path result = Path.of("result.json");

  @Option(
      names = {"-u", "--url"},
      paramLabel = "URL",
      description = "Measure this server instead.")
  private @Nullable String url;

  @Option(
      names = {"-H", "--header"},
      paramLabel = "NAME:VALUE|@FILE",
      description = "A header for every request, or a file of them; results do not keep them.")
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
    return again(arguments, filesRead(measured)).execute(arguments.toArray(String[]::new));
  }

  /** What measures, held to the files of the result; takes its name off the arguments. */
  private CommandLine again(List<String> arguments, @Nullable Map<String, String> files) {
    CommandLine commandLine;
    if (arguments.getFirst().equals("compare")) {
      arguments.removeFirst();
      CompareCommand compare = new CompareCommand();
      compare.requireFiles(files);
      commandLine = new CommandLine(compare).setCommandName("loadgen compare");
    } else {
      Loadgen loadgen = new Loadgen();
      loadgen.requireFiles(files);
      commandLine = new CommandLine(loadgen);
    }
    CommandLine own = spec.commandLine();
    return Loadgen.configure(commandLine).setOut(own.getOut()).setErr(own.getErr());
  }

  /** What the result says of the files it read; null when it says nothing. */
  private @Nullable Map<String, String> filesRead(JsonNode measured) {
    if (!measured.has("files")) {
      spec.commandLine()
          .getErr()
          .println("warning: " + result + " has no digests of the files it read; none is checked");
      return null;
    }
    Map<String, String> digests = new TreeMap<>();
    for (JsonNode file : measured.path("files")) {
      digests.put(file.path("path").asText(), file.path("sha256").asText());
    }
    return digests;
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
