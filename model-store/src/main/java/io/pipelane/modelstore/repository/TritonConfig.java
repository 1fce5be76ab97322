package io.pipelane.modelstore.repository;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.protocol.grpc.DataType;
import io.pipelane.protocol.grpc.ModelConfig;
import io.pipelane.protocol.grpc.ModelInput;
import io.pipelane.protocol.grpc.ModelOutput;
import io.pipelane.protocol.grpc.ModelVersionPolicy;
import io.pipelane.runtime.Shape;
import io.pipelane.runtime.TensorSpec;
import io.pipelane.runtime.TensorType;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * A model's configuration as Triton's owners write it, {@code config.pbtxt} beside its versions.
 *
 * @param isWritten whether there is such a file
 * @param ignored paths of what is set there and not heeded, in order
 */
public record TritonConfig(boolean isWritten, ModelConfig message, List<String> ignored) {
  private static final String MODEL_FILE = "model.onnx";
  private static final String PREFIX = "TYPE_";

  /** What an ensemble's platform is called. */
  public static final String ENSEMBLE = "ensemble";

  /** The version of an ensemble's step that leaves it open. */
  static final long ANY_VERSION = -1;

  /** What stands for a missing file: nothing is asked for. */
  public static final TritonConfig NONE =
      new TritonConfig(false, ModelConfig.getDefaultInstance(), List.of());

  public TritonConfig {
    ignored = List.copyOf(ignored);
  }

  /**
   * A configuration that comes with a load, and stands for the file.
   *
   * @param json a {@code ModelConfig}, with the schema's names
   * @throws StatusException {@link Status#INVALID_ARGUMENT} for what is none, and for a model that
   *     cannot be served as it says
   */
  public static TritonConfig ofJson(String json, String model) {
    return TritonConfigFile.parseJson(json, model);
  }

  /** The outputs that it names, in order. */
  List<String> outputNames() {
    return message.getOutputList().stream().map(ModelOutput::getName).toList();
  }

  /** Whether it declares a chain of other models. */
  public boolean isEnsemble() {
    return message.hasEnsembleScheduling();
  }

  /** Whether it says nothing, as what stands for a missing file. */
  public boolean asksForNothing() {
    return message.equals(ModelConfig.getDefaultInstance());
  }

  /**
   * @throws StatusException {@link Status#INVALID_ARGUMENT} when it declares an ensemble
   */
  void requireModel() {
    if (isEnsemble()) {
      throw refused(
          "it declares an ensemble, which has no files of its own, nor a pipelane.yaml beside it,"
              + " and is not served where one model alone is");
    }
  }

  /** How many rows a run may have, and so a request; empty bounds nothing. */
  Optional<Integer> mostRows() {
    return Optional.of(message.getMaxBatchSize()).filter(rows -> rows > 0);
  }

  /**
   * The name in each version's folder, of the file or of a folder that has all the model's files.
   */
  public String modelFile() {
    return message.getDefaultModelFilename().isEmpty()
        ? MODEL_FILE
        : message.getDefaultModelFilename();
  }

  /** The place of the model's file in a version's folder; it need not be there. */
  Path modelFile(Path version) {
    Path named = version.resolve(modelFile());
    return Files.isDirectory(named) ? named.resolve(MODEL_FILE) : named;
  }

  /**
   * Which of the versions that are there are served: the latest, unless the file says otherwise.
   */
  List<Long> served(List<Long> versions) {
    if (!isWritten) {
      return versions;
    }
    ModelVersionPolicy policy = message.getVersionPolicy();
    return switch (policy.getPolicyChoiceCase()) {
      case ALL -> versions;
      case SPECIFIC ->
          versions.stream().filter(policy.getSpecific().getVersionsList()::contains).toList();
      case LATEST -> latest(versions, policy.getLatest().getNumVersions());
      case POLICYCHOICE_NOT_SET -> latest(versions, 1);
    };
  }

  private static List<Long> latest(List<Long> versions, int number) {
    return versions.stream()
        .sorted(Comparator.reverseOrder())
        .limit(Math.max(1, Integer.toUnsignedLong(number)))
        .sorted()
        .toList();
  }

  /**
   * Checks what the file says of inputs and outputs against what the model has.
   *
   * @throws StatusException {@link Status#INVALID_ARGUMENT} naming the tensor, what is said of it
   *     and what it is
   */
  public void check(List<TensorSpec> inputs, List<TensorSpec> outputs) {
    if (message.getMaxBatchSize() > 0) {
      inputs.forEach(input -> requireBatch("input", input));
      List<String> shown = outputNames();
      outputs.stream()
          .filter(output -> shown.isEmpty() || shown.contains(output.name()))
          .forEach(output -> requireBatch("output", output));
    }
    for (ModelInput input : message.getInputList()) {
      requireNoReshape("input", input.getName(), input.hasReshape());
      requireNoDefault(input, inputs);
      check("input", input.getName(), input.getDataType(), input.getDimsList(), inputs);
    }
    for (ModelOutput output : message.getOutputList()) {
      requireNoReshape("output", output.getName(), output.hasReshape());
      check("output", output.getName(), output.getDataType(), output.getDimsList(), outputs);
    }
  }

  /** The shapes of the inputs and outputs whose {@code dims} the file gives, by name. */
  public Map<String, Shape> shapes() {
    Map<String, Shape> shapes = new HashMap<>();
    message.getOutputList().forEach(it -> putShape(it.getName(), it.getDimsList(), shapes));
    message.getInputList().forEach(it -> putShape(it.getName(), it.getDimsList(), shapes));
    return shapes;
  }

  private void putShape(String name, List<Long> dims, Map<String, Shape> shapes) {
    if (!dims.isEmpty()) {
      shapes.put(
          name, Shape.of(shape(dims).stream().mapToLong(size -> Math.max(-1, size)).toArray()));
    }
  }

  /** The inputs as clients may send them: a model's, with no more left open than the file says. */
  public List<TensorSpec> inputs(List<TensorSpec> specs) {
    Map<String, List<Long>> declared = new HashMap<>();
    message.getInputList().forEach(input -> declared.put(input.getName(), input.getDimsList()));
    return specs.stream().map(spec -> narrowed(spec, declared.get(spec.name()))).toList();
  }

  /**
   * The outputs as clients may ask for them: those that the file names, or all if it names none.
   */
  public List<TensorSpec> outputs(List<TensorSpec> specs) {
    Map<String, List<Long>> declared = new HashMap<>();
    message.getOutputList().forEach(output -> declared.put(output.getName(), output.getDimsList()));
    return specs.stream()
        .filter(spec -> declared.isEmpty() || declared.containsKey(spec.name()))
        .map(spec -> narrowed(spec, declared.get(spec.name())))
        .toList();
  }

  /** Both have been checked to agree. */
  private TensorSpec narrowed(TensorSpec spec, @Nullable List<Long> dims) {
    if (dims == null || dims.isEmpty()) {
      return spec;
    }
    List<Long> said = shape(dims);
    long[] dimensions = spec.shape().toArray();
    for (int axis = 0; axis < dimensions.length; axis++) {
      dimensions[axis] = Math.max(dimensions[axis], said.get(axis));
    }
    return new TensorSpec(spec.name(), spec.type(), Shape.of(dimensions), spec.dimensionNames());
  }

  /** Dimensions as the file gives them, with the one of the batch where there is one. */
  private List<Long> shape(List<Long> dims) {
    List<Long> shape = new ArrayList<>(dims);
    if (message.getMaxBatchSize() > 0) {
      shape.addFirst(-1L);
    }
    return shape;
  }

  private void requireBatch(String kind, TensorSpec spec) {
    if (spec.shape().rank() == 0 || spec.shape().dimension(0) >= 0) {
      throw refused(
          ("max_batch_size is %d, but %s \"%s\" has the shape %s in the model, which leaves no first"
                  + " dimension open for a batch")
              .formatted(message.getMaxBatchSize(), kind, spec.name(), spec.shape()));
    }
  }

  /** An optional input has an initializer in the model, and what has one is a constant here. */
  private static void requireNoDefault(ModelInput input, List<TensorSpec> inputs) {
    if (input.getOptional()
        && inputs.stream().noneMatch(spec -> spec.name().equals(input.getName()))) {
      throw refused(
          "input \"%s\" is optional, and its default in the model always counts here; leave it out, or have the model take it without a default"
              .formatted(input.getName()));
    }
  }

  private static void requireNoReshape(String kind, String name, boolean isReshaped) {
    if (isReshaped) {
      throw refused(
          "%s \"%s\" has a reshape, which is not served; give dims as the model has them"
              .formatted(kind, name));
    }
  }

  private void check(
      String kind, String name, DataType type, List<Long> dims, List<TensorSpec> specs) {
    TensorSpec spec =
        specs.stream()
            .filter(candidate -> candidate.name().equals(name))
            .findFirst()
            .orElseThrow(
                () ->
                    refused(
                        "%s \"%s\" is not the model's; it has %s"
                            .formatted(kind, name, specs.stream().map(TensorSpec::name).toList())));
    if (type != DataType.TYPE_INVALID && type != typeOf(spec.type())) {
      throw refused(
          "%s \"%s\" is of %s, in the model of %s"
              .formatted(kind, name, type, typeOf(spec.type())));
    }
    List<Long> shape = shape(dims);
    if (!dims.isEmpty() && !agree(shape, spec.shape().toArray())) {
      throw refused(
          "%s \"%s\" has the shape %s%s, in the model %s"
              .formatted(
                  kind,
                  name,
                  shape,
                  message.getMaxBatchSize() > 0 ? ", the batch of max_batch_size in front" : "",
                  spec.shape()));
    }
  }

  /** -1 agrees with everything. */
  private static boolean agree(List<Long> said, long[] known) {
    if (said.size() != known.length) {
      return false;
    }
    for (int i = 0; i < known.length; i++) {
      if (said.get(i) >= 0 && known[i] >= 0 && said.get(i) != known[i]) {
        return false;
      }
    }
    return true;
  }

  /** What the file format calls a type. */
  public static DataType typeOf(TensorType type) {
    return type == TensorType.BYTES ? DataType.TYPE_STRING : DataType.valueOf(PREFIX + type.name());
  }

  static StatusException refused(String reason) {
    return new StatusException(Status.INVALID_ARGUMENT, TritonConfigFile.NAME + ": " + reason);
  }
}
