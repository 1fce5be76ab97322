package io.pipelane.modelstore.repository;

import io.pipelane.modelstore.ModelVersion;
import java.nio.file.Path;
import java.util.List;

/**
 * The content of a repository, as a scan finds it.
 *
 * @param registered ordered by name and version
 * @param problems what cannot be registered, by model
 */
public record RepositoryScan(List<Registered> registered, List<Problem> problems) {
  public RepositoryScan {
    registered = List.copyOf(registered);
    problems = List.copyOf(problems);
  }

  /**
   * A model version that may be imported.
   *
   * @param declared what its owner has written for Triton
   */
  public record Registered(
      ModelVersion version, Path modelFile, ModelOptions options, TritonConfig declared) {}

  /** The reason why a model, or one of its versions, cannot be registered. */
  public record Problem(String model, String reason) {}
}
