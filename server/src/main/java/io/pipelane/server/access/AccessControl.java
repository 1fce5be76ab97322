package io.pipelane.server.access;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import java.io.IOException;
import java.lang.System.Logger.Level;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.time.Duration;
import java.util.Objects;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * Says who asks. Without a file of keys everybody may do everything; with one, what is not public
 * needs a key. The file is read again when it changes. Safe for any thread; never blocks.
 */
public final class AccessControl implements AutoCloseable {
  private static final Duration LOOK_EVERY = Duration.ofSeconds(2);
  private static final String SCHEME = "Bearer ";
  private static final System.Logger LOG = System.getLogger(AccessControl.class.getName());

  private final @Nullable KeyFile reader;
  private final @Nullable Path file;
  private final OptionalInt managementPort;
  private final @Nullable ScheduledExecutorService watcher;
  private volatile @Nullable KeyRing keys;
  private @Nullable FileTime seen;

  private AccessControl(
      Optional<Path> keyFile, OptionalInt managementPort, LongSupplier nanoClock) {
    this.file = keyFile.orElse(null);
    this.managementPort = managementPort;
    this.reader = keyFile.map(path -> new KeyFile(path, nanoClock)).orElse(null);
    if (reader == null) {
      watcher = null;
      return;
    }
    look();
    if (keys == null) {
      throw new StatusException(
          Status.INVALID_ARGUMENT, "security.api-keys: there is no file " + file);
    }
    watcher =
        Executors.newSingleThreadScheduledExecutor(
            Thread.ofPlatform().name("key-file").daemon().factory());
    ScheduledFuture<?> _ =
        watcher.scheduleWithFixedDelay(
            this::lookAgain, LOOK_EVERY.toMillis(), LOOK_EVERY.toMillis(), TimeUnit.MILLISECONDS);
  }

  /** Lets everybody do everything, at every port. */
  public static AccessControl open() {
    return new AccessControl(Optional.empty(), OptionalInt.empty(), System::nanoTime);
  }

  /**
   * Asks for keys where there is a file of them.
   *
   * @param managementPort where alone management is served; empty for everywhere
   * @throws StatusException {@link Status#INVALID_ARGUMENT} when the file cannot be used
   */
  public static AccessControl of(Optional<Path> keyFile, OptionalInt managementPort) {
    return new AccessControl(keyFile, managementPort, System::nanoTime);
  }

  /** Where alone management is served; empty for everywhere. */
  public OptionalInt managementPort() {
    return managementPort;
  }

  /**
   * Who asks.
   *
   * @param authorization what the request says under that name, {@code Bearer} and a key
   * @param apiKey what it says under {@code X-API-Key}, heeded where there is no authorization
   * @throws StatusException {@link Status#UNAUTHENTICATED} when a key is needed and none, or an
   *     unknown one, is there
   */
  public Caller identify(@Nullable String authorization, @Nullable String apiKey) {
    KeyRing known = keys;
    if (known == null) {
      return Caller.ANYBODY;
    }
    String key = authorization == null ? apiKey : bearer(authorization);
    if (key == null) {
      throw new StatusException(
          Status.UNAUTHENTICATED,
          "an API key is needed; send it as \"Authorization: Bearer KEY\" or as \"X-API-Key: KEY\"");
    }
    Caller caller = known.find(key);
    if (caller == null) {
      throw new StatusException(Status.UNAUTHENTICATED, "the API key is not known");
    }
    return caller;
  }

  private static @Nullable String bearer(String authorization) {
    return authorization.regionMatches(true, 0, SCHEME, 0, SCHEME.length())
        ? authorization.substring(SCHEME.length()).strip()
        : null;
  }

  private void lookAgain() {
    try {
      look();
    } catch (StatusException e) {
      LOG.log(Level.WARNING, "API keys stay as they were: {0}", e.getMessage());
    } catch (RuntimeException e) {
      LOG.log(Level.ERROR, "API keys stay as they were, for a fault", e);
    }
  }

  /** Reads the file if it has changed; one that is missing for a moment changes nothing. */
  synchronized void look() {
    FileTime modified;
    try {
      modified = Files.getLastModifiedTime(Objects.requireNonNull(file));
    } catch (IOException e) {
      return;
    }
    if (modified.equals(seen)) {
      return;
    }
    seen = modified;
    KeyRing read = Objects.requireNonNull(reader).read();
    KeyRing before = keys;
    keys = before == null ? read : read.continuing(before);
    LOG.log(Level.INFO, "{0} API keys are in force", read.size());
  }

  /** Looks at the file no more. */
  @Override
  public void close() {
    if (watcher != null) {
      watcher.shutdownNow();
    }
  }
}
