package io.pipelane.modelstore.importing;

import com.fasterxml.jackson.core.type.TypeReference;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.pipelane.modelstore.cache.Folders;
import io.pipelane.runtime.Shape;
import io.pipelane.runtime.graph.UnshapedValues;
import io.pipelane.runtime.graph.content.Constants;
import io.pipelane.runtime.graph.content.ModelFile;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;

/**
 * The shapes that a model's owner has declared of inputs and outputs to which its file gives none.
 * An import begins with writing them into the model, and all that follows is as if they had always
 * been there.
 *
 * @param dimensions by name
 */
record DeclaredShapes(Map<String, long[]> dimensions) {
  private static final DeclaredShapes NONE = new DeclaredShapes(Map.of());
  private static final String NAME = "shapes.json";

  /** A folder for the model and copies of its external data, inside that of the import. */
  private static final String FOLDER = "shaped";

  private static final ObjectMapper JSON = new ObjectMapper();

  /** Those that a file leaves out, of all that are declared. */
  static DeclaredShapes of(Path modelFile, Map<String, Shape> declared) throws IOException {
    if (declared.isEmpty()) {
      return NONE;
    }
    Set<String> unshaped = UnshapedValues.among(declared.keySet(), modelFile);
    Map<String, long[]> dimensions = new TreeMap<>();
    declared.forEach(
        (name, shape) -> {
          if (unshaped.contains(name)) {
            dimensions.put(name, shape.toArray());
          }
        });
    return new DeclaredShapes(dimensions);
  }

  boolean isEmpty() {
    return dimensions.isEmpty();
  }

  /** What a refused import has to say of them. */
  String remark() throws IOException {
    return isEmpty()
        ? ""
        : "; its file has no shapes of these, and its config.pbtxt gives them by dims: " + text();
  }

  /** What tells them from others. */
  String text() throws IOException {
    return JSON.writeValueAsString(dimensions);
  }

  /** Leaves them in the folder of an import, for its process. */
  void write(Path folder) throws IOException {
    if (!isEmpty()) {
      Files.writeString(folder.resolve(NAME), text());
    }
  }

  /** What was left in the folder of an import; none where there is no such file. */
  static DeclaredShapes read(Path folder) throws IOException {
    Path file = folder.resolve(NAME);
    return Files.exists(file)
        ? new DeclaredShapes(
            JSON.readValue(file.toFile(), new TypeReference<TreeMap<String, long[]>>() {}))
        : NONE;
  }

  /** The file of a model that has them: the model's own where there are none. */
  Path modelWithThem(Path modelFile, Path folder) throws IOException {
    if (isEmpty()) {
      return modelFile;
    }
    ModelFile source = ModelFile.read(modelFile);
    Path copy = Files.createDirectory(folder.resolve(FOLDER));
    Path inside = source.folder().toRealPath();
    for (Path file : Constants.externalFiles(source)) {
      Path target = copy.resolve(inside.relativize(file).toString());
      Files.createDirectories(target.getParent());
      Files.copy(file, target);
    }
    Map<String, Shape> shapes = new TreeMap<>();
    dimensions.forEach((name, sizes) -> shapes.put(name, Shape.of(sizes)));
    Path shaped = copy.resolve(modelFile.getFileName().toString());
    ModelFile.write(UnshapedValues.shaped(source.model(), shapes), shaped);
    return shaped;
  }

  /** Deletes what {@link #write} and {@link #modelWithThem} have left. */
  static void delete(Path folder) throws IOException {
    Files.deleteIfExists(folder.resolve(NAME));
    Folders.delete(folder.resolve(FOLDER));
  }
}
