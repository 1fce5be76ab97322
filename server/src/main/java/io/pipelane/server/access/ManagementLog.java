package io.pipelane.server.access;

import java.lang.System.Logger.Level;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/** The log of what callers have changed: a line for each change, with who asked for it. */
public final class ManagementLog {
  /** Of the log settings. */
  public static final String LOG_SETTINGS = "the log settings are changed";

  private static final System.Logger LOG = System.getLogger(ManagementLog.class.getName());

  private ManagementLog() {}

  /**
   * Of trace settings.
   *
   * @param model null for those of all models
   */
  public static String traceSettings(@Nullable String model) {
    return "the trace settings of %s are changed".formatted(model == null ? "all models" : model);
  }

  /**
   * Of a model's unloading.
   *
   * @param dependents whether what depends on it has left as well
   */
  public static String unloaded(String model, boolean dependents) {
    return model + " has left service" + (dependents ? ", and what depends on it" : "");
  }

  /** Of a region of shared memory, which lies at a key. */
  public static String registered(String region, String key) {
    return "region \"%s\" of shared memory, %s, is registered".formatted(region, key);
  }

  /**
   * Of a region of shared memory that is given up.
   *
   * @param region empty for all
   */
  public static String unregistered(String region) {
    return region.isEmpty()
        ? "all regions of shared memory are unregistered"
        : "region \"%.128s\" of shared memory is unregistered".formatted(region);
  }

  /** Says what has been changed, as in {@code alpha has left service, by key "ops"}. */
  public static void tell(Caller caller, String what) {
    LOG.log(Level.INFO, "{0}, by {1}", what, caller.name());
  }

  /** The same once it is done; what fails is told to the caller alone. */
  public static CompletableFuture<Void> tellWhenDone(
      CompletableFuture<Void> done, Caller caller, String what) {
    return done.thenRun(() -> tell(caller, what));
  }
}
