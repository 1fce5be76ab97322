package io.pipelane.server.cli;

import io.pipelane.config.ConfigException;
import io.pipelane.config.PipelaneConfig;
import io.pipelane.config.StatusException;
import io.pipelane.modelstore.ImportedModel;
import io.pipelane.modelstore.Plan;
import io.pipelane.modelstore.importing.ImportTarget;
import io.pipelane.modelstore.importing.Importer;
import io.pipelane.modelstore.importing.Importer.EarlierRefusal;
import io.pipelane.modelstore.repository.Repository;
import io.pipelane.modelstore.repository.RepositoryScan;
import io.pipelane.modelstore.repository.RepositoryScan.Registered;
import io.pipelane.modelstore.repository.VersionChoices;
import io.pipelane.runtime.NoDeviceMemory;
import io.pipelane.runtime.OrtEnvironment;
import io.pipelane.runtime.OrtLibrary;
import io.pipelane.server.CatalogSettings;
import io.pipelane.server.device.DeviceOpening;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/**
 * {@code pipelane import}: imports a repository's models ahead of serving them, and says what
 * import found.
 */
@Command(
    name = "import",
    description =
        "Check and prepare the models of a repository, so that a server finds them prepared.",
    sortOptions = false,
    modelTransformer = ConfigOptions.class)
final class ImportCommand implements Subcommand {
  @Spec private CommandSpec spec = CommandSpec.create();

  @Parameters(
      paramLabel = "MODEL",
      arity = "0..*",
      description =
          "Models to import, also those that an earlier import refused; all of the repository by"
              + " default.")
  private List<String> names = new ArrayList<>();

  @Override
  public Integer call() throws IOException {
    PipelaneConfig config = ConfigOptions.load(spec, System.getenv()).config();
    Path root =
        config
            .repository()
            .path()
            .orElseThrow(
                () ->
                    new ConfigException(
                        "repository.path is not set; name the folder of models with --repository"
                            + " DIR"));
    VersionChoices choices = VersionChoices.of(root, config.repository().cache());
    RepositoryScan scan = new Repository(root, config.repository().modelName(), choices::of).scan();
    PrintWriter out = spec.commandLine().getOut();
    if (names.isEmpty() && scan.problems().isEmpty() && scan.registered().isEmpty()) {
      out.println("There are no models in " + root);
      out.flush();
      return 0;
    }
    Path library = OrtLibrary.locate(config.runtime().library(), config.repository().cache());
    ImportTarget target = DeviceOpening.importTarget(config, library);
    String version;
    try (OrtEnvironment environment = OrtEnvironment.open(library, new NoDeviceMemory())) {
      version = environment.version();
    }
    Importer importer =
        Importer.open(
            config.repository().cache(), CatalogSettings.imports(config, library, version, target));
    int refused = 0;
    for (RepositoryScan.Problem problem : scan.problems()) {
      if (wanted(problem.model())) {
        out.println(problem.model() + ": refused: " + problem.reason());
        refused++;
      }
    }
    for (String name : unknown(scan)) {
      out.println(name + ": there is no such model in " + root);
      refused++;
    }
    for (Registered found : scan.registered()) {
      if (wanted(found.version().model())) {
        refused += report(importer, found, out) ? 0 : 1;
      }
    }
    return refused == 0 ? 0 : 1;
  }

  private List<String> unknown(RepositoryScan scan) {
    List<String> unknown = new ArrayList<>(names);
    scan.problems().forEach(problem -> unknown.remove(problem.model()));
    scan.registered().forEach(found -> unknown.remove(found.version().model()));
    return unknown;
  }

  private boolean wanted(String model) {
    return names.isEmpty() || names.contains(model);
  }

  private boolean report(Importer importer, Registered found, PrintWriter out) {
    EarlierRefusal earlier = names.isEmpty() ? EarlierRefusal.HOLDS : EarlierRefusal.IS_TRIED_AGAIN;
    long begin = System.nanoTime();
    try {
      ImportedModel imported =
          importer.importModel(
              found.modelFile(), found.version(), found.declared().shapes(), earlier);
      Plan plan = imported.plan();
      out.printf(
          Locale.ROOT,
          "%s: %.1f MB of weights in %d segments, %.1f MB read in place, %.1f MB of constants"
              + " (%.1f s)%n",
          found.version(),
          plan.weightBytes() / 1e6,
          plan.segments().size(),
          plan.inPlaceBytes() / 1e6,
          plan.constantBytes() / 1e6,
          (System.nanoTime() - begin) / 1e9);
      plan.notes().forEach(note -> out.println("    " + note));
      return true;
    } catch (StatusException e) {
      out.println(found.version() + ": refused: " + e.getMessage());
      return false;
    } finally {
      out.flush();
    }
  }
}
