package io.pipelane.modelstore.repository;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.protocol.grpc.ModelConfig;
import io.pipelane.protocol.grpc.ModelEnsembling;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.Stream;

/**
 * A chain of models that is asked like one. Tensors have names in it. One that a step takes and no
 * step before it makes is the ensemble's input. One that is made and not taken is its output,
 * unless its owner says what is.
 *
 * @param steps in the order in which they run
 * @param declared what its owner has written for Triton; {@link TritonConfig#NONE} for an ensemble
 *     of ours
 */
public record Ensemble(String name, List<Step> steps, TritonConfig declared) {
  static final int MAXIMUM_STEPS = 64;
  static final int MAXIMUM_TENSORS = 1024;

  /**
   * One model's turn.
   *
   * @param version empty for the one that answers at the time
   * @param device which of the server's devices alone has the model, counted from 0; empty for
   *     whichever is best
   * @param inputs names of the ensemble's tensors, by the model's inputs
   * @param outputs the same by the model's outputs; those that are not named are not computed
   */
  public record Step(
      String model,
      Optional<Long> version,
      Optional<Integer> device,
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
          throw refused(declared, "tensor \"%s\" is made twice".formatted(tensor));
        }
        if (taken.contains(tensor)) {
          throw refused(
              declared,
              "tensor \"%s\" is taken before step %s makes it".formatted(tensor, step.model));
        }
      }
    }
    Map<String, Integer> deviceOf = new HashMap<>();
    for (Step step : steps) {
      if (step.device.isPresent() != steps.getFirst().device.isPresent()) {
        throw refused(declared, "some steps name a device and some do not");
      }
      step.device.ifPresent(
          device -> {
            if (!device.equals(deviceOf.computeIfAbsent(step.model, _ -> device))) {
              throw refused(declared, "model %s is on two devices".formatted(step.model));
            }
          });
    }
  }

  /** An ensemble of ours. */
  Ensemble(String name, List<Step> steps) {
    this(name, steps, TritonConfig.NONE);
  }

  /** What its owner has written, in Triton's form; of an ensemble of ours the steps. */
  public TritonConfig described() {
    if (declared.isEnsemble()) {
      return declared;
    }
    ModelEnsembling.Builder scheduling = ModelEnsembling.newBuilder();
    for (Step step : steps) {
      scheduling
          .addStepBuilder()
          .setModelName(step.model)
          .setModelVersion(step.version.orElse(TritonConfig.ANY_VERSION))
          .putAllInputMap(step.inputs)
          .putAllOutputMap(step.outputs);
    }
    return new TritonConfig(
        false, ModelConfig.newBuilder().setEnsembleScheduling(scheduling).build(), List.of());
  }

  /** The tensors that it answers, as its owner says; empty for all that nobody takes. */
  public List<String> outputs() {
    return declared.outputNames();
  }

  /** What its owner asks for its requests; that its steps' models are asked for holds beside. */
  public ModelOptions options() {
    return ModelOptions.DEFAULT.with(BatchingOptions.DEFAULT.with(declared.mostRows()));
  }

  /** The models that it is made of, each once. */
  public Stream<String> members() {
    return steps.stream().map(Step::model).distinct();
  }

  /** Which device has which model; empty for an ensemble that does not say. */
  public Map<String, Integer> deviceOf() {
    Map<String, Integer> deviceOf = new TreeMap<>();
    steps.forEach(step -> step.device.ifPresent(device -> deviceOf.put(step.model, device)));
    return deviceOf;
  }

  private static StatusException refused(TritonConfig declared, String reason) {
    return new StatusException(
        Status.INVALID_ARGUMENT,
        "%s: ensemble is not valid: %s"
            .formatted(
                declared.isWritten() ? TritonConfigFile.NAME : ModelOptionsFile.NAME, reason));
  }
}
