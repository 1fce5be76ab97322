package io.pipelane.server.catalog;

import io.pipelane.config.StatusException;
import io.pipelane.modelstore.ImportedModel;
import io.pipelane.modelstore.repository.ModelOptions;
import io.pipelane.modelstore.repository.TritonConfig;
import java.util.List;
import java.util.stream.Stream;

/** What became of one version of a model. */
sealed interface VersionEntry {
  ModelCatalog.State state();

  /** Why it cannot be answered; empty when it can. */
  String reason();

  /** What its owner should know of how it is served. */
  default List<String> notes() {
    return List.of();
  }

  /** It is being imported, for the first time. */
  record Importing() implements VersionEntry {
    @Override
    public ModelCatalog.State state() {
      return ModelCatalog.State.LOADING;
    }

    @Override
    public String reason() {
      return "it is being imported";
    }
  }

  /** It can be answered, resident or not. */
  record Ready(ImportedModel imported, ModelOptions options, TritonConfig declared)
      implements VersionEntry {
    @Override
    public List<String> notes() {
      return Stream.concat(imported.plan().notes().stream(), IgnoredKeys.notes(declared).stream())
          .toList();
    }

    @Override
    public ModelCatalog.State state() {
      return ModelCatalog.State.READY;
    }

    @Override
    public String reason() {
      return "";
    }
  }

  /** It is on its way out of service. */
  record Leaving() implements VersionEntry {
    @Override
    public ModelCatalog.State state() {
      return ModelCatalog.State.UNLOADING;
    }

    @Override
    public String reason() {
      return "it is being unloaded";
    }
  }

  /** It was taken out of service on request. */
  record Unloaded() implements VersionEntry {
    @Override
    public ModelCatalog.State state() {
      return ModelCatalog.State.UNAVAILABLE;
    }

    @Override
    public String reason() {
      return "it was unloaded; load it to put it in service again";
    }
  }

  /** It was refused. */
  record Refused(StatusException cause) implements VersionEntry {
    @Override
    public ModelCatalog.State state() {
      return ModelCatalog.State.UNAVAILABLE;
    }

    @Override
    public String reason() {
      return String.valueOf(cause.getMessage());
    }
  }
}
