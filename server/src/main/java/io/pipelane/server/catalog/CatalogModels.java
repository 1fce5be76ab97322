package io.pipelane.server.catalog;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import java.time.Duration;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.stream.Stream;

/**
 * The models of a catalogue by name: one is there as long as there is something to say of it. Safe
 * for any thread.
 */
final class CatalogModels {
  private static final Duration RETRY_AFTER = Duration.ofSeconds(1);

  private final Map<String, CatalogModel> models = new ConcurrentSkipListMap<>();
  private final Function<String, CatalogModel> making;
  private volatile boolean scanned;

  /**
   * None yet.
   *
   * @param making makes one without versions
   */
  CatalogModels(Function<String, CatalogModel> making) {
    this.making = making;
  }

  /** All that the repository has have come. */
  void scanned() {
    scanned = true;
  }

  boolean isScanned() {
    return scanned;
  }

  /**
   * The version that answers for a name.
   *
   * @throws StatusException as {@link ModelCatalog#resolve}
   */
  ServedModel resolve(String name, String version) {
    return found(name, model -> model.resolve(version));
  }

  private <T> T found(String name, Function<CatalogModel, T> look) {
    boolean allHaveCome = scanned; // What comes while it is looked for does not count.
    try {
      return look.apply(find(name).orElseThrow(() -> unknown(name)));
    } catch (StatusException e) {
      if (allHaveCome || e.status() != Status.NOT_FOUND) {
        throw e;
      }
      throw StatusException.unavailable(
          "the repository is still being scanned, and so far " + e.getMessage(), RETRY_AFTER, e);
    }
  }

  /** All of them, by name. */
  Stream<CatalogModel> all() {
    return models.values().stream();
  }

  Optional<CatalogModel> find(String name) {
    return Optional.ofNullable(models.get(name));
  }

  /**
   * A model that there is.
   *
   * @throws StatusException {@link Status#NOT_FOUND} for any other, {@link Status#UNAVAILABLE} with
   *     a time to retry while it may still be found by the scan
   */
  CatalogModel known(String name) {
    return found(name, model -> model);
  }

  static StatusException unknown(String name) {
    return new StatusException(Status.NOT_FOUND, "there is no model \"" + name + "\"");
  }

  /**
   * Does something with a model, which is made if need be, and forgotten if nothing is left; blocks
   * until whatever else is done with it has been.
   */
  void exclusively(String name, Consumer<CatalogModel> action) {
    boolean done = false;
    while (!done) {
      CatalogModel model = models.computeIfAbsent(name, making);
      model.operation.lock();
      try {
        if (models.get(name) == model) { // Somebody may have deleted its last version meanwhile.
          done = true;
          action.accept(model);
        }
      } finally {
        release(name, model);
      }
    }
  }

  /**
   * Does something unless another thread is doing something with a model, and never waits for that.
   *
   * @param action does with the model what it does {@link #exclusively}
   * @param later called instead, once, when that is over, on whichever thread; must not block
   */
  void unlessBusy(String name, Runnable action, Runnable later) {
    boolean done = false;
    while (!done) {
      CatalogModel model = models.computeIfAbsent(name, making);
      if (!model.operation.tryLock()) {
        model.waiting.add(later);
        if (model.operation.tryLock()) { // Else whoever has it now sees what was added.
          release(name, model);
        }
        return;
      }
      try {
        if (models.get(name) == model) {
          done = true;
          action.run();
        }
      } finally {
        release(name, model);
      }
    }
  }

  /** Also tells those that wait for that, if it is free now. */
  private void release(String name, CatalogModel model) {
    boolean isLast = model.operation.getHoldCount() == 1;
    if (isLast && model.isEmpty()) {
      models.remove(name, model);
    }
    model.operation.unlock();
    if (isLast) {
      for (Runnable next = model.waiting.poll(); next != null; next = model.waiting.poll()) {
        next.run();
      }
    }
  }
}
