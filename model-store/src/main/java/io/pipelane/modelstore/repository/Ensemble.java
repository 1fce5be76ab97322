package io.pipelane.modelstore.repository;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/**
 * A chain of models that is asked like one. Tensors have names in it: one that a step takes and no
 * step before it makes is the ensemble's input, one that is made and not taken is its output.
 *
 * @param steps in the order in which they run
 */
public record Ensemble(String name, List<Step> steps) {

  /**
   * One model's turn.
   *
   * @param version empty for the one that answers at the time
   * @param inputs names of the ensemble's tensors, by the model's inputs
   * @param outputs the same by the model's outputs; those that are not named are not computed
   */
  public record Step(
      String model,
      Optional<Long> version,
      Map<String, String> inputs,
      Map<String, String> outputs) {
    public Step {
      inputs = Map.copyOf(inputs);
      outputs = Map.copyOf(outputs);
    }
  }

  /**
   * @throws StatusException {@link Status#INVALID_ARGUMENT} when the steps do not make a chain
   */
  public Ensemble {
    steps = List.copyOf(steps);
    Set<String> taken = new HashSet<>();
    Set<String> made = new HashSet<>();
    for (Step step : steps) {
      step.inputs.values().stream().filter(tensor -> !made.contains(tensor)).forEach(taken::add);
      for (String tensor : step.outputs.values()) {
        if (!made.add(tensor)) {
          throw refused("tensor \"%s\" is made twice".formatted(tensor));
        }
        if (taken.contains(tensor)) {
          throw refused(
              "tensor \"%s\" is taken before step %s makes it".formatted(tensor, step.model));
        }
      }
    }
  }

  private static StatusException refused(String reason) {
    return new StatusException(
        Status.INVALID_ARGUMENT, ModelOptionsFile.NAME + ": ensemble is not valid: " + reason);
  }
}
