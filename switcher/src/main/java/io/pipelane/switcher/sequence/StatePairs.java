package io.pipelane.switcher.sequence;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.lanes.execution.InputTensor;
import io.pipelane.modelstore.ImportedModel;
import io.pipelane.modelstore.repository.ModelOptions.StateInput;
import io.pipelane.runtime.Shape;
import io.pipelane.runtime.TensorSpec;
import io.pipelane.runtime.TensorType;
import io.pipelane.switcher.InferenceRequest;
import io.pipelane.switcher.SequenceStep;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;

/**
 * The outputs of a model that are inputs of its next step.
 *
 * @param declared all inputs of the model, in its order
 * @param inputs those that are state, by the outputs that they come from
 */
record StatePairs(List<TensorSpec> declared, Map<String, KeptInput> inputs) {
  /**
   * Checks a declaration against the model.
   *
   * @param state inputs by the names of outputs
   * @throws StatusException {@link Status#INVALID_ARGUMENT} naming what does not fit
   */
  static StatePairs of(ImportedModel model, Map<String, StateInput> state) {
    List<TensorSpec> declared = model.plan().inputs();
    Set<String> kept = state.values().stream().map(StateInput::name).collect(Collectors.toSet());
    Optional<TensorSpec> rowsOf =
        declared.stream()
            .filter(spec -> spec.shape().rank() > 0 && !kept.contains(spec.name()))
            .findFirst();
    Map<String, KeptInput> inputs = new HashMap<>();
    Set<String> found = new HashSet<>();
    state.forEach(
        (outputName, said) -> {
          String inputName = said.name();
          TensorSpec output = find(model.plan().outputs(), outputName, "output");
          TensorSpec input = find(declared, inputName, "input");
          if (input.type() != output.type() || input.type() == TensorType.BYTES) {
            throw refused(
                "output \"%s\" is %s, and input \"%s\" is %s; state has one type, not of strings"
                    .formatted(outputName, output.type(), inputName, input.type()));
          }
          if (!found.add(inputName)) {
            throw refused("input \"" + inputName + "\" has two outputs");
          }
          inputs.put(outputName, KeptInput.of(input, output, said.begins(), rowsOf));
        });
    if (inputs.size() == declared.size()) {
      throw refused("one input at least must be the request's");
    }
    return new StatePairs(declared, Map.copyOf(inputs));
  }

  private static TensorSpec find(List<TensorSpec> specs, String name, String what) {
    return specs.stream()
        .filter(spec -> spec.name().equals(name))
        .findFirst()
        .orElseThrow(() -> refused("the model has no %s \"%s\"".formatted(what, name)));
  }

  static StatusException refused(String reason) {
    return new StatusException(Status.INVALID_ARGUMENT, "state of pipelane.yaml: " + reason);
  }

  /** The rows of a request: the first dimension of its first input that has any; 1 without. */
  long rows(List<InputTensor> given) {
    for (TensorSpec spec : declared) {
      for (InputTensor input : given) {
        if (input.name().equals(spec.name()) && input.shape().rank() > 0) {
          return input.shape().dimension(0);
        }
      }
    }
    return 1;
  }

  /** Whether its size is a client's choice. */
  boolean isOpen() {
    return inputs.values().stream().anyMatch(kept -> !kept.spec().shape().isConcrete());
  }

  /**
   * The shape that a tensor begins with.
   *
   * @param rows of the request that it begins with, unless it is given
   */
  Shape shape(KeptInput kept, long rows, List<InputTensor> initial) {
    for (InputTensor given : initial) {
      if (given.name().equals(kept.spec().name())) {
        return given.shape();
      }
    }
    return kept.begins(rows);
  }

  private Optional<TensorSpec> kept(String name) {
    return inputs.values().stream()
        .map(KeptInput::spec)
        .filter(spec -> spec.name().equals(name))
        .findFirst();
  }

  /**
   * Checks that a step has all that it needs, and begins with what fits.
   *
   * @throws StatusException {@link Status#INVALID_ARGUMENT} naming what it has not
   */
  void check(InferenceRequest request, SequenceStep step) {
    for (InputTensor given : step.initial()) {
      TensorSpec spec =
          kept(given.name())
              .orElseThrow(
                  () ->
                      new StatusException(
                          Status.INVALID_ARGUMENT,
                          "\"%s\" is no state of model %s"
                              .formatted(given.name(), request.model())));
      if (given.type() != spec.type() || !spec.shape().admits(given.shape())) {
        throw new StatusException(
            Status.INVALID_ARGUMENT,
            "state \"%s\" was %s%s, and the model declares %s%s"
                .formatted(given.name(), given.type(), given.shape(), spec.type(), spec.shape()));
      }
    }
    for (TensorSpec spec : declared) {
      boolean isThere =
          kept(spec.name()).isPresent()
              || request.inputs().stream().anyMatch(input -> input.name().equals(spec.name()));
      if (!isThere) {
        throw new StatusException(
            Status.INVALID_ARGUMENT, "input \"" + spec.name() + "\" is missing");
      }
    }
  }
}
