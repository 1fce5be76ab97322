package io.pipelane.server.catalog;

import io.pipelane.modelstore.repository.CarriedModel;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/**
 * The files that came with models' last loads, instead of those in the repository. A model's are
 * changed under its {@code operation} lock; to be read by any thread.
 */
final class CarriedFiles implements AutoCloseable {
  private final Map<String, CarriedModel> files = new ConcurrentHashMap<>();

  /** Whether a model's files came with its load. */
  boolean has(String model) {
    return files.containsKey(model);
  }

  /**
   * Keeps the files of a load instead of those before them.
   *
   * @param loaded null for the repository's own
   */
  void keep(String model, @Nullable CarriedModel loaded) {
    @Nullable CarriedModel before = loaded == null ? files.remove(model) : files.put(model, loaded);
    if (before != null) {
      before.close();
    }
  }

  /** Gives files back that a load has brought, unless they are kept. */
  void closeUnlessKept(String model, CarriedModel loaded) {
    if (files.get(model) != loaded) {
      loaded.close();
    }
  }

  @Override
  public void close() {
    files.values().forEach(CarriedModel::close);
  }
}
