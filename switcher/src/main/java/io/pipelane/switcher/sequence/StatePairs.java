package io.pipelane.switcher.sequence;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.lanes.execution.InputTensor;
import io.pipelane.modelstore.ImportedModel;
import io.pipelane.runtime.Shape;
import io.pipelane.runtime.TensorSpec;
import io.pipelane.runtime.TensorType;
import io.pipelane.switcher.InferenceRequest;
import io.pipelane.switcher.SequenceStep;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * The outputs of a model that are inputs of its next step.
 *
 * @param declared all inputs of the model, in its order
 * @param inputs those that are state, by the outputs that they come from
 */
record StatePairs(List<TensorSpec> declared, Map<String, TensorSpec> inputs) {
  /**
   * Checks a declaration against the model.
   *
   * @param state names of inputs by those of outputs
   * @throws StatusException {@link Status#INVALID_ARGUMENT} naming what does not fit
   */
  static StatePairs of(ImportedModel model, Map<String, String> state) {
    Map<String, TensorSpec> inputs = new HashMap<>();
    state.forEach(
        (outputName, inputName) -> {
          TensorSpec output = find(model.plan().outputs(), outputName, "output");
          TensorSpec input = find(model.plan().inputs(), inputName, "input");
          if (input.type() != output.type() || input.type() == TensorType.BYTES) {
            throw refused(
                "output \"%s\" is %s, and input \"%s\" is %s; state has one type, not of strings"
                    .formatted(outputName, output.type(), inputName, input.type()));
          }
          if (inputs.containsValue(input)) {
            throw refused("input \"" + inputName + "\" has two outputs");
          }
          inputs.put(outputName, input);
        });
    if (inputs.size() == model.plan().inputs().size()) {
      throw refused("one input at least must be the request's");
    }
    return new StatePairs(model.plan().inputs(), Map.copyOf(inputs));
  }

  private static TensorSpec find(List<TensorSpec> specs, String name, String what) {
    return specs.stream()
        .filter(spec -> spec.name().equals(name))
        .findFirst()
        .orElseThrow(() -> refused("the model has no %s \"%s\"".formatted(what, name)));
  }

  private static StatusException refused(String reason) {
    return new StatusException(Status.INVALID_ARGUMENT, "state of pipelane.yaml: " + reason);
  }

  /** What open dimensions of the state are: the first dimension of the first input. */
  long rows(List<InputTensor> given) {
    Shape shape = given.getFirst().shape();
    return shape.rank() == 0 ? 1 : shape.dimension(0);
  }

  /** Whether its size is a client's choice. */
  boolean isOpen() {
    return inputs.values().stream().anyMatch(spec -> !spec.shape().isConcrete());
  }

  /**
   * The shape that a tensor begins with.
   *
   * @param rows what its open dimensions are, unless it is given
   */
  Shape shape(TensorSpec spec, long rows, List<InputTensor> initial) {
    for (InputTensor given : initial) {
      if (given.name().equals(spec.name())) {
        return given.shape();
      }
    }
    long[] dimensions = spec.shape().toArray();
    for (int i = 0; i < dimensions.length; i++) {
      dimensions[i] = dimensions[i] < 0 ? rows : dimensions[i];
    }
    return Shape.of(dimensions);
  }

  /**
   * Checks that a step has all that it needs, and begins with what fits.
   *
   * @throws StatusException {@link Status#INVALID_ARGUMENT} naming what it has not
   */
  void check(InferenceRequest request, SequenceStep step) {
    for (InputTensor given : step.initial()) {
      TensorSpec spec =
          inputs.values().stream()
              .filter(each -> each.name().equals(given.name()))
              .findFirst()
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
          inputs.containsValue(spec)
              || request.inputs().stream().anyMatch(input -> input.name().equals(spec.name()));
      if (!isThere) {
        throw new StatusException(
            Status.INVALID_ARGUMENT, "input \"" + spec.name() + "\" is missing");
      }
    }
  }
}
