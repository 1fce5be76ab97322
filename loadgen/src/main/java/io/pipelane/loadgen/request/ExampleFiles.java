package io.pipelane.loadgen.request;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * Reads examples from files: perf_analyzer's JSON form, or a folder with a file for each input,
 * {@code <input>.npy} or the bare bytes as {@code <input>} or {@code <input>.bin}; expected outputs
 * lie in its folder {@code expected}.
 *
 * <p>A folder may also hold {@code <model>.json} or a folder {@code <model>} for each model.
 */
final class ExampleFiles {
  private final Path files;
  private final Map<String, List<Long>> shapes;

  /**
   * @param shapes of inputs whose files do not say it
   */
  ExampleFiles(Path files, Map<String, List<Long>> shapes) {
    this.files = files;
    this.shapes = shapes;
  }

  /**
   * Reads the examples for a model, at least one.
   *
   * @throws StatusException {@link Status#INVALID_ARGUMENT} when files are missing or do not fit
   *     the model
   */
  List<Example> read(ModelMetadata model) {
    Path path = files;
    if (Files.isRegularFile(files.resolve(model.name() + ".json"))) {
      path = files.resolve(model.name() + ".json");
    } else if (Files.isDirectory(files.resolve(model.name()))) {
      path = files.resolve(model.name());
    }
    try {
      if (Files.isDirectory(path)) {
        return List.of(readFolder(model, path));
      }
      if (Files.isRegularFile(path)) {
        return new ExampleJson(shapes).read(model, Files.readAllBytes(path));
      }
    } catch (IOException e) {
      throw new StatusException(Status.INVALID_ARGUMENT, "cannot read " + path + ": " + e, e);
    }
    throw new StatusException(
        Status.INVALID_ARGUMENT, "--input-data: there is neither a file nor a folder " + path);
  }

  private Example readFolder(ModelMetadata model, Path folder) throws IOException {
    List<TensorValue> inputs = new ArrayList<>();
    for (TensorMetadata input : model.inputs()) {
      inputs.add(
          readTensor(model, input, folder)
              .orElseThrow(
                  () ->
                      new StatusException(
                          Status.INVALID_ARGUMENT,
                          "--input-data: %s has no file for input \"%s\"; write %s.npy"
                              .formatted(folder, input.name(), input.name()))));
    }
    List<TensorValue> expected = new ArrayList<>();
    for (TensorMetadata output : model.outputs()) {
      readTensor(model, output, folder.resolve("expected")).ifPresent(expected::add);
    }
    return new Example(inputs, expected);
  }

  private Optional<TensorValue> readTensor(ModelMetadata model, TensorMetadata tensor, Path folder)
      throws IOException {
    Path numpy = folder.resolve(tensor.name() + ".npy");
    if (Files.isRegularFile(numpy)) {
      TensorValue value = NumpyFile.read(tensor.name(), Files.readAllBytes(numpy));
      return Optional.of(InputShapes.requireFit(model.name(), tensor, value));
    }
    for (String name : List.of(tensor.name(), tensor.name() + ".bin")) {
      Path raw = folder.resolve(name);
      if (Files.isRegularFile(raw)) {
        List<Long> shape = InputShapes.concrete(shapes, model.name(), tensor, 0);
        ByteBuffer data = ByteBuffer.wrap(Files.readAllBytes(raw)).order(ByteOrder.LITTLE_ENDIAN);
        TensorValue value = new TensorValue(tensor.name(), Datatype.of(tensor), shape, data);
        return Optional.of(InputShapes.requireFit(model.name(), tensor, value));
      }
    }
    return Optional.empty();
  }
}
