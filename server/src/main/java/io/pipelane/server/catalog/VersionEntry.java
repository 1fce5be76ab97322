package io.pipelane.server.catalog;

import io.pipelane.config.StatusException;
import io.pipelane.modelstore.ImportedModel;
import io.pipelane.modelstore.Plan;
import io.pipelane.modelstore.repository.ModelOptions;
import io.pipelane.modelstore.repository.ModelOptions.StateInput;
import io.pipelane.modelstore.repository.TritonConfig;
import io.pipelane.runtime.TensorSpec;
import java.util.Collection;
import java.util.List;
import java.util.stream.Stream;

/** The state of one version of a model. */
sealed interface VersionEntry {
  ModelCatalog.State state();

  /** Why it cannot be answered; empty when it can. */
  String reason();

  /** What its owner should know of how it is served. */
  default List<String> notes() {
    return List.of();
  }

  /** A version that is being imported, for the first time. */
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

  /**
   * A version that can be answered, resident or not.
   *
   * @param refusal why what its folder holds by now is not what answers; empty when it is
   */
  record Ready(ImportedModel imported, ModelOptions options, TritonConfig declared, String refusal)
      implements VersionEntry {
    Ready(ImportedModel imported, ModelOptions options, TritonConfig declared) {
      this(imported, options, declared, "");
    }

    /**
     * As the front end sees it: what its owner has declared; state is no business of those who ask.
     *
     * @param ready all versions of the model that are READY with it
     */
    ServedModel served(List<Long> ready) {
      Plan plan = imported.plan();
      return new ServedModel(
              imported.version(),
              ready,
              without(stateInputs(), declared.inputs(plan.inputs())),
              without(options.state().keySet(), declared.outputs(plan.outputs())),
              options)
          .ofContent(imported.content());
    }

    /** Whether it keeps state, and a step of another content's sequence can be one of its own. */
    boolean keepsStateAs(Ready other) {
      ServedModel ours = served(List.of());
      ServedModel others = other.served(List.of());
      return ours.keepsState()
          && options.state().equals(other.options.state())
          && ours.inputs().equals(others.inputs())
          && ours.outputs().equals(others.outputs());
    }

    private List<String> stateInputs() {
      return options.state().values().stream().map(StateInput::name).toList();
    }

    private static List<TensorSpec> without(Collection<String> state, List<TensorSpec> specs) {
      return specs.stream()
          .filter(spec -> !state.contains(spec.name()))
          .map(TensorSpec::unnamed)
          .toList();
    }

    /** The same beside a content that was refused. */
    Ready refusing(StatusException cause) {
      return new Ready(
          imported,
          options,
          declared,
          "what its folder holds by now is refused, the content before answers: "
              + cause.getMessage());
    }

    @Override
    public List<String> notes() {
      return Stream.of(
              Stream.of(refusal).filter(text -> !text.isEmpty()),
              imported.plan().notes().stream(),
              IgnoredKeys.notes(declared).stream())
          .flatMap(notes -> notes)
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

  /** A version on its way out of service. */
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

  /** A version that was taken out of service on request. */
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

  /** A version that was refused. */
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
