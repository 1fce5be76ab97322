package io.pipelane.bench.model;

import io.pipelane.bench.accelerator.AcceleratorOptions;
import java.nio.file.Path;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Option;

/** The option that says where models are found by their names. */
public final class FolderOptions {
  @Option(
      names = "--repository",
      paramLabel = "FOLDER",
      description = "Folder of the models; without it they are the demo's cases and the zoo's.")
  private @Nullable Path repository;

  /**
   * Where they are found.
   *
   * @param work where models are written that are not there yet
   */
  public AskedModels models(Path work, AcceleratorOptions requests) {
    return new AskedModels(work, requests, repository);
  }
}
