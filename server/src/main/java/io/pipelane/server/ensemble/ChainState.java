package io.pipelane.server.ensemble;

import io.pipelane.lanes.execution.InputTensor;
import io.pipelane.modelstore.ModelVersion;
import io.pipelane.server.catalog.ServedModel;
import io.pipelane.switcher.InferenceService;
import io.pipelane.switcher.SequenceState;
import io.pipelane.switcher.SequenceStep;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * The state of a job's sequence in an ensemble, put together from what its models keep. Its tensors
 * have the names of their model and of its input, with a slash between them. Safe for any thread.
 */
final class ChainState implements SequenceState {
  private static final char SEPARATOR = '/'; // In no name of a model.

  private final List<Part> parts;

  /** A model's state; empty where that has ended, or has not begun. */
  private record Part(String model, Optional<SequenceState> state) {}

  private ChainState(List<Part> parts) {
    this.parts = parts;
  }

  /** The state of a job's sequence; empty when none of the models has it. */
  static Optional<SequenceState> of(EnsemblePlan plan, String id, InferenceService models) {
    List<Part> parts =
        plan.members().stream()
            .map(EnsemblePlan.Member::model)
            .filter(ServedModel::keepsState)
            .map(ServedModel::version)
            .distinct()
            .map(version -> new Part(version.model(), models.sequence(version, id)))
            .toList();
    return parts.stream().anyMatch(part -> part.state.isPresent())
        ? Optional.of(new ChainState(parts))
        : Optional.empty();
  }

  /**
   * The step of its own that a model is asked for, with what its own state begins with. It is of no
   * sequence that the model, or another ensemble, is asked for under the same name.
   *
   * @param ensemble that is asked for the step
   */
  static SequenceStep partOf(SequenceStep step, String ensemble, ModelVersion model) {
    return partOf(step.of("ensemble %s %s".formatted(ensemble, step.owner())), model);
  }

  /** The same of a sequence whose name nobody else has, as a job's. */
  static SequenceStep partOf(SequenceStep step, ModelVersion model) {
    String prefix = model.model() + SEPARATOR;
    List<InputTensor> initial =
        step.initial().stream()
            .filter(tensor -> tensor.name().startsWith(prefix))
            .map(tensor -> named(tensor.name().substring(prefix.length()), tensor))
            .toList();
    return step.from(initial);
  }

  private static InputTensor named(String name, InputTensor tensor) {
    return new InputTensor(name, tensor.type(), tensor.shape(), tensor.data(), tensor.onDevice());
  }

  @Override
  public boolean isWhole() {
    return parts.stream().allMatch(part -> part.state.isPresent());
  }

  @Override
  public boolean read(Reader reader) throws IOException {
    return isWhole() && read(0, List.of(), reader);
  }

  /** Reads a part while those before it are held. */
  private boolean read(int number, List<InputTensor> before, Reader reader) throws IOException {
    if (number == parts.size()) {
      reader.read(before);
      return true;
    }
    Part part = parts.get(number);
    boolean[] all = {false};
    boolean isThere =
        part.state
            .orElseThrow()
            .read(
                state -> {
                  List<InputTensor> more = new ArrayList<>(before);
                  state.forEach(
                      tensor -> more.add(named(part.model + SEPARATOR + tensor.name(), tensor)));
                  all[0] = read(number + 1, more, reader);
                });
    return isThere && all[0];
  }

  @Override
  public void end() {
    parts.forEach(part -> part.state.ifPresent(SequenceState::end));
  }
}
