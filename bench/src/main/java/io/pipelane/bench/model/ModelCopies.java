package io.pipelane.bench.model;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** One model under several names in a repository of its own, in one file, never batched. */
public final class ModelCopies {
  private static final String NEVER_BATCHED = "batching: {mode: never}\n";

  private ModelCopies() {}

  /** Writes {@code <name>-1} to {@code <name>-count}; the names. */
  public static List<String> write(Path repository, Path file, String name, int count)
      throws IOException {
    List<String> names = new ArrayList<>();
    for (int copy = 1; copy <= count; copy++) {
      String named = name + "-" + copy;
      Path version = Files.createDirectories(repository.resolve(named).resolve("1"));
      Path target = version.resolve("model.onnx");
      if (!Files.isRegularFile(target) || Files.size(target) != Files.size(file)) {
        Files.deleteIfExists(target);
        ModelLinks.link(file, target);
      }
      Files.writeString(repository.resolve(named).resolve("pipelane.yaml"), NEVER_BATCHED);
      names.add(named);
    }
    return names;
  }
}
