package io.pipelane.modelstore.repository;

import com.fasterxml.jackson.databind.JsonNode;
import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.config.value.ModelName;
import io.pipelane.modelstore.repository.Ensemble.Step;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/** A reader of an ensemble from a {@code pipelane.yaml} that declares one. */
final class EnsembleFile {
  private static final int MAXIMUM_BYTES = 64 << 10;
  private static final Set<String> MEMBERS =
      Set.of("model", "version", "device", "inputs", "outputs");

  private EnsembleFile() {}

  /**
   * The ensemble that a file declares; empty where it is of another kind, or cannot be read as one.
   *
   * @throws StatusException {@link Status#INVALID_ARGUMENT} when it is not valid
   */
  static Optional<Ensemble> read(Path file, String name) throws IOException {
    if (!Files.isRegularFile(file) || Files.size(file) > MAXIMUM_BYTES) {
      return Optional.empty();
    }
    JsonNode root;
    try {
      root = ModelOptionsFile.YAML.readTree(Files.readAllBytes(file));
    } catch (IOException | RuntimeException e) {
      return Optional.empty(); // Who reads options says what is wrong.
    }
    if (root == null || !root.has("ensemble")) {
      return Optional.empty();
    }
    if (root.size() != 1) {
      throw refused("beside it there are other options; those of its models hold");
    }
    return Optional.of(new Ensemble(name, steps(root.path("ensemble"), name)));
  }

  private static List<Step> steps(JsonNode ensemble, String name) {
    JsonNode steps = ensemble.path("steps");
    if (!steps.isArray()
        || ensemble.size() != 1
        || steps.isEmpty()
        || steps.size() > Ensemble.MAXIMUM_STEPS) {
      throw refused("it must have the list \"steps\", of 1 to " + Ensemble.MAXIMUM_STEPS);
    }
    List<Step> read = new ArrayList<>();
    for (JsonNode step : steps) {
      read.add(step("step " + (read.size() + 1), step, name));
    }
    return read;
  }

  private static Step step(String which, JsonNode step, String name) {
    for (Map.Entry<String, JsonNode> member : step.properties()) {
      if (!MEMBERS.contains(member.getKey())) {
        throw refused(
            "%s has \"%s\"; there are %s"
                .formatted(which, member.getKey(), MEMBERS.stream().sorted().toList()));
      }
    }
    String model = step.path("model").asText();
    if (!ModelName.isOne(model) || model.equals(name)) {
      throw refused(which + " must name another model; model names have " + ModelName.FORM);
    }
    JsonNode version = step.path("version");
    if (!version.isMissingNode() && (!version.canConvertToLong() || version.asLong() < 1)) {
      throw refused(which + ": version must be a positive integer");
    }
    JsonNode device = step.path("device");
    if (!device.isMissingNode() && (!device.canConvertToInt() || device.asInt() < 0)) {
      throw refused(which + ": device must be one of the server's, counted from 0");
    }
    return new Step(
        model,
        version.isMissingNode() ? Optional.empty() : Optional.of(version.asLong()),
        device.isMissingNode() ? Optional.empty() : Optional.of(device.asInt()),
        names(which + ": inputs", step.path("inputs")),
        names(which + ": outputs", step.path("outputs")));
  }

  private static Map<String, String> names(String which, JsonNode node) {
    if (!node.isObject() || node.isEmpty() || node.size() > Ensemble.MAXIMUM_TENSORS) {
      throw refused(
          "%s must be MODEL'S: ENSEMBLE'S names of tensors, 1 to %d times"
              .formatted(which, Ensemble.MAXIMUM_TENSORS));
    }
    Map<String, String> names = new HashMap<>();
    for (Map.Entry<String, JsonNode> pair : node.properties()) {
      if (!pair.getValue().isTextual() || pair.getValue().asText().isEmpty()) {
        throw refused("%s: \"%s\" must be given a name".formatted(which, pair.getKey()));
      }
      names.put(pair.getKey(), pair.getValue().asText());
    }
    return names;
  }

  private static StatusException refused(String reason) {
    return new StatusException(
        Status.INVALID_ARGUMENT, ModelOptionsFile.NAME + ": ensemble is not valid: " + reason);
  }
}
