package io.pipelane.bench.plot;

import io.pipelane.bench.report.SavedResults;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.OptionalDouble;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.regex.Pattern;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/** {@code bench plot}: draws what another program has written as JSON. */
@Command(
    name = "plot",
    description = {
      "Draws figures that another program wrote with --json, as bars.",
      "Of one column, cases are groups by what is before the first comma of their "
          + "names, with a bar for what is behind it; of several, each case is a group with a "
          + "bar for each column."
    },
    mixinStandardHelpOptions = true,
    sortOptions = false)
public final class PlotCommand implements Callable<Integer> {
  @Option(
      names = "--from",
      split = ",",
      paramLabel = "FILE",
      required = true,
      description = "What to draw; of cases that several files have the first counts.")
  private List<Path> files = List.of();

  @Option(
      names = "--column",
      split = ",",
      paramLabel = "KEY",
      required = true,
      description = "As the JSON names it.")
  private List<String> columns = List.of();

  @Option(
      names = "--case",
      paramLabel = "REGEX",
      description =
          "What all of a case's name has to match to be drawn; all unless told otherwise.")
  private Pattern chosen = Pattern.compile(".*");

  @Option(
      names = "--title",
      paramLabel = "TEXT",
      required = true,
      description = "Says what is drawn.")
  private String title = "";

  @Option(names = "--svg", paramLabel = "FILE", required = true, description = "Where it goes.")
  private Path svg = Path.of("plot.svg");

  @Override
  public Integer call() throws Exception {
    BarPlot plot = new BarPlot(title);
    Set<String> drawn = new HashSet<>();
    for (Path file : files) {
      SavedResults results = SavedResults.read(file);
      List<String> cases = new ArrayList<>(results.cases());
      cases.removeIf(name -> !chosen.matcher(name).matches());
      for (String name : cases) {
        for (String column : columns) {
          OptionalDouble value = results.value(name, column);
          if (value.isPresent() && drawn.add(name + "\n" + column)) {
            draw(plot, name, column, value.getAsDouble());
          }
        }
      }
    }
    if (drawn.isEmpty()) {
      throw new IllegalArgumentException(
          "no case of %s that matches %s has any of %s".formatted(files, chosen, columns));
    }
    plot.write(svg);
    return 0;
  }

  private void draw(BarPlot plot, String name, String column, double value) {
    int comma = name.indexOf(", ");
    if (columns.size() > 1 || comma < 0) {
      plot.add(name, column, value);
    } else {
      plot.add(name.substring(0, comma), name.substring(comma + 2), value);
    }
  }
}
