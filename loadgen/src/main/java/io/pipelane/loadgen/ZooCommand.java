package io.pipelane.loadgen;

import com.google.errorprone.annotations.FormatMethod;
import io.pipelane.loadgen.zoo.ZooModel;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** {@code loadgen zoo}: writes models of published architectures with random weights. */
@Command(
    name = "zoo",
    description =
        "Writes ONNX models of published architectures with random weights, each as "
            + "<folder>/<name>/1/model.onnx: a repository that can be served.",
    mixinStandardHelpOptions = true,
    sortOptions = false)
public final class ZooCommand implements Subcommand {
  @Spec private CommandSpec spec = CommandSpec.create();

  @Parameters(arity = "0..*", paramLabel = "NAME", description = "Which models; see --list.")
  private List<String> names = new ArrayList<>();

  @Option(
      names = "--out",
      paramLabel = "FOLDER",
      description = "The repository's folder (${DEFAULT-VALUE}).")
  private Path out = Path.of("zoo");

  @Option(
      names = "--seed",
      paramLabel = "N",
      description = {
        "Decides the weights (${DEFAULT-VALUE}). The same seed gives the same bytes, another one "
            + "a variant of the same structure."
      })
  private long seed = 1;

  @Option(names = "--list", description = "Lists the models and writes nothing.")
  private boolean list;

  @Override
  public Integer call() throws IOException {
    PrintWriter console = spec.commandLine().getOut();
    if (list) {
      for (ZooModel model : ZooModel.values()) {
        print(
            console,
            "%-14s%,13d parameters%8.1f MB%5d layers  %s%n",
            model.label(),
            model.parameters(),
            model.weightBytes() / 1e6,
            model.layers(),
            model.source());
      }
      return ExitStatus.OK.code();
    }
    for (ZooModel model : models()) {
      long start = System.nanoTime();
      long bytes = model.write(out, seed);
      print(
          console,
          "%-14s%,13d parameters%8.1f MB%6.1f s  %s%n",
          model.label(),
          model.parameters(),
          bytes / 1e6,
          (System.nanoTime() - start) / 1e9,
          model.file(out));
    }
    return ExitStatus.OK.code();
  }

  /** All of them are known before the first is written. */
  private Set<ZooModel> models() {
    if (names.isEmpty()) {
      throw wrong("say which models; --list names them");
    }
    Set<ZooModel> models = new LinkedHashSet<>();
    for (String name : names) {
      models.add(
          ZooModel.find(name)
              .orElseThrow(() -> wrong("there is no model \"" + name + "\"; see --list")));
    }
    return models;
  }

  private ParameterException wrong(String message) {
    return new ParameterException(spec.commandLine(), message);
  }

  @FormatMethod
  private static void print(PrintWriter console, String format, Object... values) {
    console.printf(Locale.ROOT, format, values);
    console.flush();
  }
}
