package io.pipelane.loadgen;

import io.pipelane.loadgen.settings.ModelChoice;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.ArgGroup;
import picocli.CommandLine.Option;

/** Options that say which models are asked. */
final class ModelOptions {
  @Option(
      names = {"-m", "--model"},
      paramLabel = "NAME",
      description = {
        "A model to ask; give it several times for several, the most popular first.",
        "Without it: all that the server's index calls ready, or those of --trace."
      })
  List<String> models = new ArrayList<>();

  @Option(
      names = {"-x", "--model-version"},
      paramLabel = "VERSION",
      defaultValue = "",
      description = "The version that is asked, of every model (the one that the server picks).")
  String version = "";

  @ArgGroup(multiplicity = "0..1")
  Popularity popularity = new Popularity();

  /** The options that say which of several models is asked. */
  static final class Popularity {
    @Option(
        names = "--zipf",
        paramLabel = "S",
        description = "The k-th model is asked in proportion to 1/k^S.")
    @Nullable Double zipf;

    @Option(names = "--uniform", description = "All models are asked alike; the default.")
    boolean uniform;

    @Option(
        names = "--switch-storm",
        description = "Models take turns, so that no request asks the one before it did.")
    boolean switchStorm;
  }

  /** Whether anything is said about which models are asked how often. */
  boolean isGiven() {
    return !models.isEmpty()
        || popularity.zipf != null
        || popularity.uniform
        || popularity.switchStorm;
  }

  /** Checks that no model is named twice: its figures stand under its name. */
  void requireDistinct() {
    Set<String> names = new HashSet<>();
    for (String name : models) {
      if (!names.add(name)) {
        throw new IllegalArgumentException(
            "--model: \"%s\" is named twice; name each model once, and use --zipf or --trace to ask some more often"
                .formatted(name));
      }
    }
  }

  ModelChoice choice() {
    if (popularity.switchStorm) {
      return new ModelChoice.SwitchStorm();
    }
    return popularity.zipf == null
        ? new ModelChoice.Uniform()
        : new ModelChoice.Zipf(popularity.zipf);
  }
}
