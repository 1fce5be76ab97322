package io.pipelane.server;

import io.pipelane.config.PipelaneConfig;
import io.pipelane.config.section.ImportConfig;
import io.pipelane.config.section.RepositoryConfig;
import io.pipelane.modelstore.ModelVersion;
import io.pipelane.modelstore.importing.ImportSettings;
import io.pipelane.modelstore.importing.ImportTarget;
import io.pipelane.modelstore.repository.RepositoryWriter;
import io.pipelane.runtime.SessionSettings.Optimization;
import io.pipelane.runtime.graph.CutSettings;
import io.pipelane.server.catalog.Popularity;
import java.nio.file.Path;
import java.security.SecureRandom;
import java.util.Map;
import java.util.Optional;
import java.util.function.Supplier;

/** The settings that a configuration has for the catalogue, and for the imports that fill it. */
public final class CatalogSettings {
  private CatalogSettings() {}

  /**
   * How models are imported for a device.
   *
   * @param library ONNX Runtime's
   * @param runtimeVersion of it
   */
  public static ImportSettings imports(
      PipelaneConfig config, Path library, String runtimeVersion, ImportTarget target) {
    ImportConfig settings = config.imports();
    CutSettings cuts =
        switch (target.graph()) {
          case PROCESSOR ->
              new CutSettings(
                  settings.leastSegmentForCpu().bytes(),
                  settings.segmentsForCpu(),
                  config.switching().readInPlace().byProcessors()
                      && !config.workers().usesProcesses(false),
                  settings.longestSegmentForCpu());
          case GPU ->
              new CutSettings(
                  settings.leastSegmentForGpu().bytes(),
                  settings.segmentsForGpu(),
                  config.switching().readInPlace().byGpus(),
                  settings.longestSegmentForGpu());
        };
    return new ImportSettings(
        library,
        runtimeVersion,
        Optimization.valueOf(config.runtime().optimization().name()),
        cuts,
        settings.timeout(),
        settings.memory(),
        settings.maxFileSize(),
        target);
  }

  /** What puts versions into the repository; empty where nothing may. */
  static Optional<RepositoryWriter> writer(RepositoryConfig repository) {
    return repository.upload()
        ? Optional.of(
            new RepositoryWriter(
                repository.path().orElseThrow(), repository.uploadLimit(), new SecureRandom()))
        : Optional.empty();
  }

  /**
   * How often models were asked for, kept over restarts.
   *
   * @param uses how often they are
   */
  static Popularity popularity(PipelaneConfig config, Supplier<Map<ModelVersion, Double>> uses) {
    Path repository = config.repository().path().orElseThrow();
    return new Popularity(
        Popularity.file(config.repository().cache(), repository),
        config.residency().halfLife(),
        uses,
        System::nanoTime);
  }
}
