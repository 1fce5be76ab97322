package io.pipelane.bench.plot;

import io.pipelane.bench.report.SavedResults;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.OptionalDouble;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/** {@code bench plot}: draws what another program has written as JSON. */
@Command(
    name = "plot",
    description = {
      "Draws figures that another program wrote with --json, as bars, or as lines with --across.",
      "Of one column, cases are groups by what is before the first comma of their "
          + "names, with a bar for what is behind it; of several, each case is a group with a "
          + "bar for each column."
    },
    mixinStandardHelpOptions = true,
    sortOptions = false)
public final class PlotCommand implements Callable<Integer> {
  /** What is left at a name's ends where a part of it is taken out. */
  private static final Pattern SEPARATORS = Pattern.compile("^[, ]+|[, ]+$");

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
      names = "--across",
      paramLabel = "REGEX",
      description =
          "Draw lines over a number in the cases' names, the group of this, such as 'shares (\\d+) %%'"
              + " for shares of the multiprocessors; a line for what is left of the names, and for"
              + " each column of several. Cases without it are not drawn.")
  private @Nullable Pattern across;

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
    BarPlot bars = new BarPlot(title);
    LinePlot lines = new LinePlot(title);
    Set<String> drawn = new HashSet<>();
    for (Path file : files) {
      SavedResults results = SavedResults.read(file);
      List<String> cases = new ArrayList<>(results.cases());
      cases.removeIf(name -> !chosen.matcher(name).matches() || number(name).isEmpty());
      for (String name : cases) {
        for (String column : columns) {
          OptionalDouble value = results.value(name, column);
          if (value.isEmpty() || !drawn.add(name + "\n" + column)) {
            continue;
          }
          if (across == null) {
            draw(bars, name, column, value.getAsDouble());
          } else {
            double x = number(name).getAsDouble();
            lines.add(line(across, name, column), x, value.getAsDouble());
          }
        }
      }
    }
    if (drawn.isEmpty()) {
      throw new IllegalArgumentException(
          "no case of %s that matches %s%s has any of %s"
              .formatted(files, chosen, across == null ? "" : " and " + across, columns));
    }
    if (across == null) {
      bars.write(svg);
    } else {
      lines.write(svg);
    }
    return 0;
  }

  /** What lines are drawn over; of bars anything. */
  private OptionalDouble number(String name) {
    if (across == null) {
      return OptionalDouble.of(0);
    }
    Matcher matcher = across.matcher(name);
    if (matcher.groupCount() != 1) {
      throw new IllegalArgumentException("--across has one group, which is a number: " + across);
    }
    return matcher.find()
        ? OptionalDouble.of(Double.parseDouble(matcher.group(1)))
        : OptionalDouble.empty();
  }

  /** What is left of a case's name, and the column where there are several. */
  private String line(Pattern without, String name, String column) {
    String rest = SEPARATORS.matcher(without.matcher(name).replaceFirst("")).replaceAll("");
    if (columns.size() == 1) {
      return rest.isEmpty() ? column : rest;
    }
    return rest.isEmpty() ? column : rest + ", " + column;
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
