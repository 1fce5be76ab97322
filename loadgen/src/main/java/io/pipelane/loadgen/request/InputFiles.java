package io.pipelane.loadgen.request;

import java.nio.file.Path;
import org.jspecify.annotations.Nullable;

/**
 * The files that examples are read from.
 *
 * @param path a file, or a folder
 * @param pixels what pictures become
 * @param tokenizer the {@code tokenizer.json} for texts; null for the one beside them
 */
public record InputFiles(Path path, Pixels pixels, @Nullable Path tokenizer) {
  /** Files whose pictures have values from 0 to 1, and whose texts have a tokenizer beside them. */
  public static InputFiles at(Path path) {
    return new InputFiles(path, Pixels.UNIT, null);
  }
}
