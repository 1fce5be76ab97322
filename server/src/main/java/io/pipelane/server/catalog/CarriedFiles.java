package io.pipelane.server.catalog;

import io.pipelane.modelstore.repository.CarriedModel;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/**
 * The files that came with models' last loads, instead of those in the repository. A model's are
 * changed under its {@code operation} lock; to be read by any thread.
 */
final class CarriedFiles implements AutoCloseable {
  private final Map<String, Kept> kept = new ConcurrentHashMap<>();

  private record Kept(CarriedModel files, Set<Long> versions) {}

  /** Whether a model's files came with its load. */
  boolean has(String model) {
    return kept.containsKey(model);
  }

  /** The versions that came into service with those files. */
  Set<Long> versions(String model) {
    @Nullable Kept ofLoad = kept.get(model);
    return ofLoad == null ? Set.of() : ofLoad.versions;
  }

  /**
   * Keeps the files of a load instead of those before them.
   *
   * @param versions which came into service with them
   */
  void keep(String model, CarriedModel loaded, Set<Long> versions) {
    close(kept.put(model, new Kept(loaded, versions)));
  }

  /** The repository's own count again. */
  void drop(String model) {
    close(kept.remove(model));
  }

  private static void close(@Nullable Kept before) {
    if (before != null) {
      before.files.close();
    }
  }

  /** Gives files back that a load has brought, unless they are kept. */
  void closeUnlessKept(String model, CarriedModel loaded) {
    @Nullable Kept ofLoad = kept.get(model);
    if (ofLoad == null || ofLoad.files != loaded) {
      loaded.close();
    }
  }

  @Override
  public void close() {
    kept.values().forEach(CarriedFiles::close);
  }
}
