package io.pipelane.loadgen.request;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.loadgen.file.FilesRead;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Stream;

/**
 * A reader of examples from files. A file has perf_analyzer's JSON form, or is a picture, or a
 * text, each line an example. A folder has a file for each input, {@code <input>.npy} or the bare
 * bytes as {@code <input>} or {@code <input>.bin}, and expected outputs in its folder {@code
 * expected}; or else pictures or texts.
 *
 * <p>A folder may also hold {@code <model>.json}, a picture or a text of the model's name, or a
 * folder {@code <model>} for each model.
 */
final class ExampleFiles {
  private static final List<String> MODEL_ENDINGS =
      List.of(".json", "", ".txt", ".png", ".jpg", ".jpeg", ".gif", ".bmp");

  private final InputFiles files;
  private final Map<String, List<Long>> shapes;
  private final PictureExamples pictures;
  private final TextExamples texts;
  private final FilesRead read;

  /**
   * @param shapes of inputs whose files do not say it
   * @param read is told of every file that is read
   */
  ExampleFiles(InputFiles files, Map<String, List<Long>> shapes, FilesRead read) {
    this.read = read;
    this.files = files;
    this.shapes = shapes;
    this.pictures = new PictureExamples(shapes, files.pixels());
    this.texts = new TextExamples(shapes);
  }

  /** What a file's name ends with behind its last dot, in lower case. */
  static String ending(Path file) {
    String name = file.getFileName().toString();
    return name.substring(name.lastIndexOf('.') + 1).toLowerCase(Locale.ROOT);
  }

  /**
   * Reads the examples for a model, at least one.
   *
   * @throws StatusException {@link Status#INVALID_ARGUMENT} when files are missing or do not fit
   *     the model
   */
  List<Example> read(ModelMetadata model) {
    Path path =
        MODEL_ENDINGS.stream()
            .map(ending -> within(files.path(), model.name() + ending))
            .filter(Files::exists)
            .findFirst()
            .orElse(files.path());
    try {
      if (Files.isDirectory(path)) {
        List<Path> pieces = pieces(path);
        return pieces.isEmpty() || hasInput(model, path)
            ? List.of(readFolder(model, path))
            : readAll(model, pieces);
      }
      if (Files.isRegularFile(path)) {
        return isPiece(path)
            ? readAll(model, List.of(path))
            : new ExampleJson(shapes).read(model, bytes(path));
      }
    } catch (IOException e) {
      throw new StatusException(
          Status.INVALID_ARGUMENT, "--input-data: cannot read " + path + ": " + e.getMessage(), e);
    }
    throw new StatusException(
        Status.INVALID_ARGUMENT, "--input-data: there is neither a file nor a folder " + path);
  }

  private static boolean isPiece(Path file) {
    return PictureExamples.isPicture(file) || TextExamples.isText(file);
  }

  /** The pictures and texts in a folder, in the order of their names. */
  private static List<Path> pieces(Path folder) throws IOException {
    try (Stream<Path> files = Files.list(folder)) {
      return files.filter(ExampleFiles::isPiece).sorted().toList();
    }
  }

  private static boolean hasInput(ModelMetadata model, Path folder) {
    return model.inputs().stream()
        .anyMatch(input -> Files.exists(within(folder, input.name() + ".npy")));
  }

  private List<Example> readAll(ModelMetadata model, List<Path> pieces) throws IOException {
    List<Example> examples = new ArrayList<>();
    for (Path piece : pieces) {
      read.note(piece);
      if (PictureExamples.isPicture(piece)) {
        examples.add(pictures.read(model, piece));
      } else {
        examples.addAll(texts.read(model, piece, tokenizer(piece)));
      }
    }
    return examples;
  }

  /** The tokenizer of a text; noted where it is there, as not every model needs one. */
  private Path tokenizer(Path text) throws IOException {
    Path named = files.tokenizer();
    Path tokenizer = named == null ? text.resolveSibling("tokenizer.json") : named;
    if (Files.isRegularFile(tokenizer)) {
      read.note(tokenizer);
    }
    return tokenizer;
  }

  private byte[] bytes(Path file) throws IOException {
    read.note(file);
    return Files.readAllBytes(file);
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

  /** A file in a folder. The server chose its name, and must not get at others by it. */
  private static Path within(Path folder, String name) {
    Path file = folder.resolve(name).normalize();
    if (!file.toAbsolutePath().normalize().startsWith(folder.toAbsolutePath().normalize())) {
      throw new StatusException(
          Status.INVALID_ARGUMENT,
          "--input-data: the server's name \"" + name + "\" leads out of " + folder);
    }
    return file;
  }

  private Optional<TensorValue> readTensor(ModelMetadata model, TensorMetadata tensor, Path folder)
      throws IOException {
    Path numpy = within(folder, tensor.name() + ".npy");
    if (Files.isRegularFile(numpy)) {
      TensorValue value = NumpyFile.read(tensor.name(), bytes(numpy));
      return Optional.of(InputShapes.requireFit(model.name(), tensor, value));
    }
    for (String name : List.of(tensor.name(), tensor.name() + ".bin")) {
      Path raw = within(folder, name);
      if (Files.isRegularFile(raw)) {
        List<Long> shape = InputShapes.concrete(shapes, model.name(), tensor, 0);
        ByteBuffer data = ByteBuffer.wrap(bytes(raw)).order(ByteOrder.LITTLE_ENDIAN);
        TensorValue value = new TensorValue(tensor.name(), Datatype.of(tensor), shape, data);
        return Optional.of(InputShapes.requireFit(model.name(), tensor, value));
      }
    }
    return Optional.empty();
  }
}
