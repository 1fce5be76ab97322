package io.pipelane.server.catalog;

import io.pipelane.config.StatusException;
import java.lang.System.Logger.Level;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import java.util.function.Function;
import java.util.function.Supplier;

/**
 * The search for models whose folders have changed: has the catalogue follow those that look alike
 * twice, as what is being copied looks otherwise each time. What is refused is tried again when it
 * changes. Used by one thread.
 */
public final class RepositoryPoll {
  private static final System.Logger LOG = System.getLogger(RepositoryPoll.class.getName());

  /** How a folder looks that is not there. */
  private static final String GONE = "";

  private final Supplier<Map<String, Optional<String>>> stamps;
  private final Function<String, CompletableFuture<Void>> reload;

  /** How each folder looked when the catalogue was last told of it. */
  private final Map<String, String> told = new HashMap<>();

  /** How each looked the last time. */
  private final Map<String, String> seen = new HashMap<>();

  private final Map<String, CompletableFuture<Void>> underWay = new HashMap<>();
  private boolean away;

  /**
   * Takes the folders as they are for what the catalogue knows, which is to scan them after this.
   *
   * @param stamps how each model's folder looks; empty for one that cannot be read just now. Throws
   *     a StatusException when none can
   * @param reload has a model be served as its folder says; fails where that is refused
   */
  public RepositoryPoll(
      Supplier<Map<String, Optional<String>>> stamps,
      Function<String, CompletableFuture<Void>> reload) {
    this.stamps = stamps;
    this.reload = reload;
    stamps.get().forEach((name, stamp) -> stamp.ifPresent(is -> told.put(name, is)));
    seen.putAll(told);
  }

  /**
   * Looks once; reads no file's content, and waits for no import.
   *
   * @return completes when the catalogue has followed what this look has found
   */
  public CompletableFuture<Void> look() {
    Map<String, Optional<String>> now;
    try {
      now = stamps.get();
    } catch (StatusException e) { // A volume that is away for a moment has lost no models.
      if (!away) {
        LOG.log(Level.WARNING, "models stay as they are: {0}", e.getMessage());
      }
      away = true;
      return CompletableFuture.completedFuture(null);
    }
    away = false;
    underWay.values().removeIf(CompletableFuture::isDone);
    TreeSet<String> names = new TreeSet<>(now.keySet());
    names.addAll(seen.keySet());
    names.addAll(told.keySet());
    List<CompletableFuture<Void>> following = new ArrayList<>();
    for (String name : names) {
      Optional<String> stamp = now.getOrDefault(name, Optional.of(GONE));
      if (stamp.isEmpty()) {
        continue; // As if nobody had looked.
      }
      boolean isStill = stamp.get().equals(note(seen, name, stamp.get()));
      if (isStill && !underWay.containsKey(name)) {
        if (!stamp.get().equals(note(told, name, stamp.get()))) {
          following.add(follow(name));
        }
      }
    }
    return CompletableFuture.allOf(following.toArray(CompletableFuture<?>[]::new));
  }

  /** Keeps how a folder looks; returns how it looked before. */
  private static String note(Map<String, String> looks, String name, String stamp) {
    String before = stamp.equals(GONE) ? looks.remove(name) : looks.put(name, stamp);
    return before == null ? GONE : before;
  }

  private CompletableFuture<Void> follow(String name) {
    LOG.log(Level.INFO, "model \"{0}\" has changed in the repository", name);
    CompletableFuture<Void> done = reload.apply(name).exceptionally(_ -> null); // The index tells.
    underWay.put(name, done);
    return done;
  }
}
