package io.pipelane.server.catalog;

import io.pipelane.modelstore.ModelVersion;
import java.lang.System.Logger.Level;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * The leaving of contents that were kept for sequences which have ended: once at a time each,
 * however long its model's lock is held. Safe for any thread.
 */
final class IdleContents {
  private static final System.Logger LOG = System.getLogger(IdleContents.class.getName());

  private final Function<ModelVersion, CompletableFuture<Void>> takingOut;
  private final Set<ModelVersion> leaving = ConcurrentHashMap.newKeySet();

  /**
   * None leaves yet.
   *
   * @param takingOut takes out the content that is kept beside another one, on another thread
   */
  IdleContents(Function<ModelVersion, CompletableFuture<Void>> takingOut) {
    this.takingOut = takingOut;
  }

  /** Has the content leave that is kept beside another one, unless it is about to. */
  void leaveBeside(ModelVersion latest) {
    if (leaving.add(latest)) {
      CompletableFuture<Void> _ =
          takingOut.apply(latest).whenComplete((_, failure) -> ended(latest, failure));
    }
  }

  private void ended(ModelVersion latest, @Nullable Throwable failure) {
    boolean _ = leaving.remove(latest);
    if (failure != null) {
      LOG.log(
          Level.WARNING, "the content before " + latest + " has not left as it should", failure);
    }
  }
}
