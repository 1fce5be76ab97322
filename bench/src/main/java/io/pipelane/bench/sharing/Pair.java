package io.pipelane.bench.sharing;

import io.pipelane.bench.model.AskedModel;
import io.pipelane.bench.model.AskedModels;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/**
 * An online model and an offline one, in a repository that holds no others.
 *
 * @param repository holds both
 */
record Pair(Path repository, AskedModel online, AskedModel offline) {
  /**
   * Two models by name.
   *
   * @param maxSlowdown what the online model's owner lets offline work slow it down by; 0 for any
   * @throws IllegalArgumentException when there is none of a name
   */
  static Pair of(AskedModels models, String online, String offline, double maxSlowdown)
      throws IOException {
    AskedModel first = models.find(online);
    AskedModel second = models.find(offline);
    String limit = maxSlowdown > 0 ? "-" + maxSlowdown : "";
    String name = "sharing-" + first.model() + "-" + second.model() + limit;
    Path repository = models.repository(name, List.of(first, second));
    if (maxSlowdown > 0) {
      Path options = repository.resolve(first.model()).resolve("pipelane.yaml");
      Files.deleteIfExists(options); // It may be a link to the original's.
      Files.writeString(options, "limits: {max-slowdown: %s}\n".formatted(maxSlowdown));
    }
    return new Pair(repository, first, second);
  }
}
