package io.pipelane.bench.accelerator;

import java.nio.file.Path;
import picocli.CommandLine.Option;

/** The option that says where the models lie that are measured. */
public final class RepositoryOptions {
  @Option(
      names = "--repository",
      paramLabel = "FOLDER",
      description = "The models' folder (${DEFAULT-VALUE}).")
  private Path repository = Path.of("zoo");

  /** The folder, absolute. */
  public Path folder() {
    return repository.toAbsolutePath().normalize();
  }
}
