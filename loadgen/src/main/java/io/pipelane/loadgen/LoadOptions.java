package io.pipelane.loadgen;

import io.pipelane.loadgen.request.InputSettings;
import io.pipelane.loadgen.settings.ArrivalPattern;
import io.pipelane.loadgen.settings.LoadMode;
import io.pipelane.loadgen.settings.ModelChoice;
import io.pipelane.loadgen.settings.Window;
import java.net.URI;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.ArgGroup;
import picocli.CommandLine.Option;

/** The command line's options, and the settings they stand for. */
final class LoadOptions {
  private static final Pattern RANGE = Pattern.compile("(-?\\d{1,18})(?::|\\.\\.)(-?\\d{1,18})");
  private static final int OPEN_LOOP_CONNECTIONS = 64;

  @Option(
      names = {"-u", "--url"},
      paramLabel = "URL",
      defaultValue = "http://127.0.0.1:8000",
      description = "The server (${DEFAULT-VALUE}).")
  URI url = URI.create("http://127.0.0.1:8000");

  @Option(
      names = {"-m", "--model"},
      paramLabel = "NAME",
      required = true,
      description = "A model to ask; give it several times for several, the most popular first.")
  List<String> models = new ArrayList<>();

  @ArgGroup(multiplicity = "1")
  Loop loop = new Loop();

  /** Closed or open loop. */
  static final class Loop {
    @Option(
        names = "--concurrency",
        paramLabel = "N",
        description = "Closed loop: N connections, each with one request at a time.")
    @Nullable Integer concurrency;

    @Option(
        names = "--rate",
        paramLabel = "R",
        description = "Open loop: R requests per second, whether or not the server keeps up.")
    @Nullable Double rate;
  }

  @Option(
      names = "--distribution",
      paramLabel = "constant|poisson",
      defaultValue = "poisson",
      description = "Open loop: how requests are spread over time (${DEFAULT-VALUE}).")
  Distribution distribution = Distribution.POISSON;

  /** How requests of an open loop are spread. */
  enum Distribution {
    CONSTANT,
    POISSON
  }

  @Option(
      names = "--connections",
      paramLabel = "N",
      description = "Open loop: connections to send over (" + OPEN_LOOP_CONNECTIONS + ").")
  @Nullable Integer connections;

  @Option(
      names = "--duration",
      paramLabel = "TIME",
      defaultValue = "10s",
      description = "Measured time, like 10s or 2m (${DEFAULT-VALUE}).")
  Duration duration = Duration.ofSeconds(10);

  @Option(
      names = "--warmup",
      paramLabel = "TIME",
      defaultValue = "2s",
      description = "Load before it that is not measured (${DEFAULT-VALUE}).")
  Duration warmup = Duration.ofSeconds(2);

  @Option(
      names = "--request-count",
      paramLabel = "N",
      description = "End after N measured requests, if that is earlier.")
  @Nullable Long requestCount;

  @Option(
      names = "--timeout",
      paramLabel = "TIME",
      defaultValue = "30s",
      description = "A request unanswered for so long is an error (${DEFAULT-VALUE}).")
  Duration timeout = Duration.ofSeconds(30);

  @ArgGroup(multiplicity = "0..1")
  Popularity popularity = new Popularity();

  /** Which of several models. */
  static final class Popularity {
    @Option(
        names = "--zipf",
        paramLabel = "S",
        description = "The k-th model is asked in proportion to 1/k^S.")
    @Nullable Double zipf;

    @Option(names = "--uniform", description = "All models are asked alike; the default.")
    boolean uniform;
  }

  @Option(
      names = "--seed",
      paramLabel = "S",
      defaultValue = "1",
      description = "Seed of arrivals, choice of models and random inputs (${DEFAULT-VALUE}).")
  long seed = 1;

  @Option(
      names = "--shape",
      paramLabel = "INPUT:DIMS",
      description = {
        "The shape of an input, like input_ids:1,16; MODEL/INPUT:DIMS for one model's.",
        "Open dimensions are 1 otherwise."
      })
  List<String> shapes = new ArrayList<>();

  @Option(
      names = "--input-data",
      paramLabel = "zero|random",
      defaultValue = "random",
      description = "What inputs hold (${DEFAULT-VALUE}).")
  InputSettings.Values inputData = InputSettings.Values.RANDOM;

  @Option(
      names = "--int-range",
      paramLabel = "MIN:MAX",
      defaultValue = "0:99",
      description = "Random integers lie within, both ends included (${DEFAULT-VALUE}).")
  String intRange = "0:99";

  @Option(
      names = "--format",
      paramLabel = "binary|json",
      defaultValue = "binary",
      description = "How tensors travel (${DEFAULT-VALUE}).")
  InputSettings.Format format = InputSettings.Format.BINARY;

  @Option(
      names = "--json",
      paramLabel = "FILE",
      description = "Write everything measured to a file, too.")
  @Nullable Path json;

  LoadMode mode() {
    if (loop.concurrency != null) {
      if (connections != null) {
        throw new IllegalArgumentException(
            "--connections belongs to --rate; a closed loop has as many as its concurrency");
      }
      return new LoadMode.Closed(loop.concurrency);
    }
    if (loop.rate == null) {
      throw new IllegalArgumentException("give --concurrency or --rate");
    }
    return new LoadMode.Open(
        distribution == Distribution.POISSON
            ? new ArrivalPattern.Poisson(loop.rate)
            : new ArrivalPattern.Constant(loop.rate),
        connections == null ? OPEN_LOOP_CONNECTIONS : connections);
  }

  ModelChoice choice() {
    return popularity.zipf == null
        ? new ModelChoice.Uniform()
        : new ModelChoice.Zipf(popularity.zipf);
  }

  Window window() {
    return new Window(
        warmup, duration, requestCount == null ? Long.MAX_VALUE : requestCount, timeout, null);
  }

  InputSettings inputs() {
    Matcher range = RANGE.matcher(intRange);
    if (!range.matches()) {
      throw new IllegalArgumentException(
          "--int-range: \"" + intRange + "\" is not a range; write MIN:MAX, like 0:99");
    }
    Map<String, List<Long>> byInput = new LinkedHashMap<>();
    shapes.forEach(shape -> addShape(byInput, shape));
    return new InputSettings(
        inputData,
        format,
        byInput,
        Long.parseLong(range.group(1)),
        Long.parseLong(range.group(2)),
        seed);
  }

  /** Names may contain colons, so the last one ends the name. */
  private static void addShape(Map<String, List<Long>> shapes, String text) {
    int colon = text.lastIndexOf(':');
    String dimensions = text.substring(colon + 1);
    if (colon < 1 || !dimensions.matches("\\d{1,10}(,\\d{1,10})*")) {
      throw new IllegalArgumentException(
          "--shape: \"" + text + "\" is not a shape; write INPUT:DIMS, like input_ids:1,16");
    }
    shapes.put(
        text.substring(0, colon),
        Arrays.stream(dimensions.split(",", -1)).map(Long::parseLong).toList());
  }
}
