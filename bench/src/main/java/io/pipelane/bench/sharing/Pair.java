package io.pipelane.bench.sharing;

import io.pipelane.bench.model.AskedModel;
import io.pipelane.bench.model.AskedModels;
import java.io.IOException;
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
   * @throws IllegalArgumentException when there is none of a name
   */
  static Pair of(AskedModels models, String online, String offline) throws IOException {
    AskedModel first = models.find(online);
    AskedModel second = models.find(offline);
    String name = "sharing-" + first.model() + "-" + second.model();
    return new Pair(models.repository(name, List.of(first, second)), first, second);
  }
}
