package io.pipelane.modelstore.repository;

import static io.pipelane.modelstore.repository.TritonConfig.refused;

import io.pipelane.config.StatusException;
import io.pipelane.config.value.ModelName;
import io.pipelane.modelstore.repository.Ensemble.Step;
import io.pipelane.protocol.grpc.ModelEnsembling;
import io.pipelane.protocol.grpc.ModelInput;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;

/**
 * The ensemble that {@code ensemble_scheduling} of a {@code config.pbtxt} amounts to. Its steps run
 * as soon as what they take is there, whatever their order in the file; here one after another, in
 * the first order that allows it.
 */
final class TritonEnsemble {
  private final String name;
  private final TritonConfig config;
  private final Set<String> inputs;
  private final Set<String> outputs;

  private TritonEnsemble(TritonConfig config, String name) {
    this.name = name;
    this.config = config;
    this.inputs =
        config.message().getInputList().stream()
            .map(ModelInput::getName)
            .collect(Collectors.toSet());
    this.outputs = Set.copyOf(config.outputNames());
  }

  /**
   * The ensemble that a configuration declares.
   *
   * @throws StatusException {@link io.pipelane.config.Status#INVALID_ARGUMENT} when it is not valid
   */
  static Ensemble of(TritonConfig config, String name) {
    return new TritonEnsemble(config, name).read();
  }

  /**
   * The ensemble that a file declares; empty where it declares none, or cannot be read.
   *
   * @throws StatusException as {@link #of}
   */
  static Optional<Ensemble> in(Path file, String name) throws IOException {
    TritonConfig config;
    try {
      config = TritonConfigFile.read(file, name);
    } catch (StatusException e) {
      return Optional.empty(); // Who reads options says what is wrong.
    }
    return config.isEnsemble() ? Optional.of(of(config, name)) : Optional.empty();
  }

  private Ensemble read() {
    List<ModelEnsembling.Step> declared = config.message().getEnsembleScheduling().getStepList();
    if (declared.isEmpty() || declared.size() > Ensemble.MAXIMUM_STEPS) {
      throw refused(
          "ensemble_scheduling has %d steps, which must be 1 to %d"
              .formatted(declared.size(), Ensemble.MAXIMUM_STEPS));
    }
    if (config.message().getInstanceGroupCount() > 0) {
      throw refused("an ensemble has no instance_group; those of its models hold");
    }
    List<Step> steps = new ArrayList<>();
    for (ModelEnsembling.Step step : declared) {
      steps.add(step("step " + (steps.size() + 1), step));
    }
    return new Ensemble(name, inOrder(withoutUnused(steps)), config);
  }

  private Step step(String which, ModelEnsembling.Step step) {
    if (!ModelName.isOne(step.getModelName()) || step.getModelName().equals(name)) {
      throw refused(which + " must name another model; model names have " + ModelName.FORM);
    }
    if (!step.getModelNamespace().isEmpty()) {
      throw refused(which + " names a model_namespace; there are none here");
    }
    if (step.getModelVersion() < -1) {
      throw refused(which + ": model_version is " + step.getModelVersion() + ", least is -1");
    }
    return new Step(
        step.getModelName(),
        Optional.of(step.getModelVersion()).filter(version -> version > 0),
        Optional.empty(),
        checked(which + ": input_map", step.getInputMapMap()),
        checked(which + ": output_map", step.getOutputMapMap()));
  }

  private static Map<String, String> checked(String which, Map<String, String> names) {
    if (names.isEmpty() || names.size() > Ensemble.MAXIMUM_TENSORS) {
      throw refused(
          "%s has %d entries, which must be 1 to %d"
              .formatted(which, names.size(), Ensemble.MAXIMUM_TENSORS));
    }
    if (names.containsKey("") || names.containsValue("")) {
      throw refused(which + " has an entry without a name");
    }
    return names;
  }

  /** Leaves out what steps make for nobody, where the outputs are declared. */
  private List<Step> withoutUnused(List<Step> steps) {
    if (outputs.isEmpty()) {
      return steps;
    }
    Set<String> wanted = new HashSet<>(outputs);
    steps.forEach(step -> wanted.addAll(step.inputs().values()));
    List<Step> used = new ArrayList<>();
    for (Step step : steps) {
      Map<String, String> made = new HashMap<>(step.outputs());
      made.values().retainAll(wanted);
      if (made.isEmpty()) {
        throw refused(
            "nobody takes what step %d, model %s, makes".formatted(used.size() + 1, step.model()));
      }
      used.add(new Step(step.model(), step.version(), step.device(), step.inputs(), made));
    }
    return used;
  }

  private List<Step> inOrder(List<Step> steps) {
    Set<String> made = new HashSet<>();
    steps.forEach(step -> made.addAll(step.outputs().values()));
    requireDeclared(steps, made);
    List<Step> left = new ArrayList<>(steps);
    List<Step> ordered = new ArrayList<>();
    Set<String> there = new HashSet<>();
    while (!left.isEmpty()) {
      Step next =
          left.stream()
              .filter(step -> there.containsAll(takenOf(step, made)))
              .findFirst()
              .orElseThrow(
                  () ->
                      refused(
                          "models %s take what each other make, in a circle"
                              .formatted(left.stream().map(Step::model).toList())));
      left.remove(next);
      ordered.add(next);
      there.addAll(next.outputs().values());
    }
    return ordered;
  }

  private static Set<String> takenOf(Step step, Set<String> made) {
    Set<String> taken = new HashSet<>(step.inputs().values());
    taken.retainAll(made);
    return taken;
  }

  private void requireDeclared(List<Step> steps, Set<String> made) {
    Set<String> taken = new HashSet<>();
    steps.forEach(step -> taken.addAll(step.inputs().values()));
    for (String input : inputs) {
      if (made.contains(input) || !taken.contains(input)) {
        throw refused(
            "input \"%s\" is %s"
                .formatted(input, made.contains(input) ? "made by a step" : "taken by no step"));
      }
    }
    for (String output : outputs) {
      if (!made.contains(output)) {
        throw refused("output \"%s\" is made by no step".formatted(output));
      }
    }
    taken.removeAll(made);
    taken.removeAll(inputs);
    if (!inputs.isEmpty() && !taken.isEmpty()) {
      throw refused("steps take %s, which is no input, and made by no step".formatted(taken));
    }
  }
}
