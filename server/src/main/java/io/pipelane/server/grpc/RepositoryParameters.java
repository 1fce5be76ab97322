package io.pipelane.server.grpc;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.protocol.grpc.ModelRepositoryParameter;
import io.pipelane.protocol.grpc.ModelRepositoryParameter.ParameterChoiceCase;
import io.pipelane.server.catalog.LoadOptions;
import io.pipelane.server.protocol.RepositoryRequests;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** The parameters of the repository's calls, each of which must have its type. */
final class RepositoryParameters {
  private final Map<String, ModelRepositoryParameter> parameters;

  RepositoryParameters(Map<String, ModelRepositoryParameter> parameters) {
    this.parameters = parameters;
  }

  /**
   * Refuses a call that is about a certain repository, as Triton does.
   *
   * @param repository its name; empty for whichever there are
   * @throws StatusException {@link Status#UNIMPLEMENTED} for any name
   */
  static void requireUnnamed(String repository) {
    if (!repository.isEmpty()) {
      throw new StatusException(
          Status.UNIMPLEMENTED,
          "there is one repository, which has no name; leave repository_name empty instead of \"%s\""
              .formatted(InferMessageReader.shorten(repository)));
    }
  }

  /**
   * How a model is to be loaded.
   *
   * @throws StatusException {@link Status#INVALID_ARGUMENT} for what cannot be, and for a parameter
   *     of another type
   */
  LoadOptions load() {
    return RepositoryRequests.options(
        find("deadline", ParameterChoiceCase.INT64_PARAM)
            .map(deadline -> RepositoryRequests.deadline(deadline.getInt64Param())),
        find("config", ParameterChoiceCase.STRING_PARAM)
            .map(ModelRepositoryParameter::getStringParam),
        files());
  }

  /**
   * Whether an ensemble's models are to leave with it.
   *
   * @throws StatusException {@link Status#INVALID_ARGUMENT} for a parameter of another type
   */
  boolean unloadsDependents() {
    return find(RepositoryRequests.UNLOAD_DEPENDENTS, ParameterChoiceCase.BOOL_PARAM)
        .map(ModelRepositoryParameter::getBoolParam)
        .orElse(false);
  }

  private Map<String, byte[]> files() {
    Map<String, byte[]> files = new HashMap<>();
    for (String name : parameters.keySet()) {
      if (name.startsWith(RepositoryRequests.FILE)) {
        find(name, ParameterChoiceCase.BYTES_PARAM)
            .ifPresent(
                file ->
                    files.put(
                        name.substring(RepositoryRequests.FILE.length()),
                        file.getBytesParam().toByteArray()));
      }
    }
    return files;
  }

  private Optional<ModelRepositoryParameter> find(String name, ParameterChoiceCase type) {
    @Nullable ModelRepositoryParameter found = parameters.get(name);
    if (found == null || found.getParameterChoiceCase() == type) {
      return Optional.ofNullable(found);
    }
    throw InferMessageReader.invalid(
        "parameter \"%s\" must be %s, not %s"
            .formatted(
                InferMessageReader.shorten(name),
                field(type),
                field(found.getParameterChoiceCase())));
  }

  private static String field(ParameterChoiceCase type) {
    return type == ParameterChoiceCase.PARAMETERCHOICE_NOT_SET
        ? "empty"
        : ModelRepositoryParameter.getDescriptor().findFieldByNumber(type.getNumber()).getName();
  }
}
