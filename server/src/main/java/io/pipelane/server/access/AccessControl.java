package io.pipelane.server.access;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import java.nio.file.Path;
import java.time.Duration;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * Says who asks. Without a file of keys everybody may do everything; with one, what is not public
 * needs an API key or a token. The files are read again when they change. Safe for any thread;
 * never blocks.
 */
public final class AccessControl implements AutoCloseable {
  private static final Duration LOOK_EVERY = Duration.ofSeconds(2);
  private static final String SCHEME = "Bearer ";

  private final @Nullable WatchedFile<KeyRing> keys;
  private final @Nullable WatchedFile<Tokens> tokens;
  private final List<WatchedFile<?>> files = new ArrayList<>();
  private final OptionalInt managementPort;
  private final @Nullable ScheduledExecutorService watcher;

  private AccessControl(
      Optional<Path> keyFile,
      Optional<TokenSettings> tokenSettings,
      OptionalInt managementPort,
      InstantSource clock) {
    this.managementPort = managementPort;
    keys = keyFile.map(AccessControl::keys).orElse(null);
    tokens = tokenSettings.map(settings -> tokens(settings, clock)).orElse(null);
    read(keys, "security.api-keys", keyFile);
    read(tokens, "security.jwt-keys", tokenSettings.map(TokenSettings::keys));
    if (files.isEmpty()) {
      watcher = null;
      return;
    }
    watcher =
        Executors.newSingleThreadScheduledExecutor(
            Thread.ofPlatform().name("key-file").daemon().factory());
    ScheduledFuture<?> _ =
        watcher.scheduleWithFixedDelay(
            () -> files.forEach(WatchedFile::lookAgain),
            LOOK_EVERY.toMillis(),
            LOOK_EVERY.toMillis(),
            TimeUnit.MILLISECONDS);
  }

  private static WatchedFile<KeyRing> keys(Path file) {
    KeyFile reader = new KeyFile(file, System::nanoTime);
    return new WatchedFile<>(
        "API keys",
        file,
        before -> before == null ? reader.read() : reader.read().continuing(before));
  }

  private static WatchedFile<Tokens> tokens(TokenSettings settings, InstantSource clock) {
    return new WatchedFile<>(
        "keys of tokens",
        settings.keys(),
        _ -> new Tokens(settings, TokenKeys.read(settings.keys()), clock));
  }

  private void read(@Nullable WatchedFile<?> file, String key, Optional<Path> path) {
    if (file == null) {
      return;
    }
    file.look();
    if (file.value() == null) {
      throw new StatusException(
          Status.INVALID_ARGUMENT, key + ": there is no file " + path.orElseThrow());
    }
    files.add(file);
  }

  /** Lets everybody do everything, at every port. */
  public static AccessControl open() {
    return of(Optional.empty(), Optional.empty(), OptionalInt.empty());
  }

  /**
   * Asks for keys, or tokens, where there is a file of them.
   *
   * @param managementPort where alone management is served; empty for everywhere
   * @throws StatusException {@link Status#INVALID_ARGUMENT} when a file cannot be used
   */
  public static AccessControl of(
      Optional<Path> keyFile, Optional<TokenSettings> tokens, OptionalInt managementPort) {
    return of(keyFile, tokens, managementPort, InstantSource.system());
  }

  /** The same, with a clock that tokens expire by. */
  static AccessControl of(
      Optional<Path> keyFile,
      Optional<TokenSettings> tokens,
      OptionalInt managementPort,
      InstantSource clock) {
    return new AccessControl(keyFile, tokens, managementPort, clock);
  }

  /** Where alone management is served; empty for everywhere. */
  public OptionalInt managementPort() {
    return managementPort;
  }

  /**
   * Who asks.
   *
   * @param authorization what the request says under that name, {@code Bearer} and a key or token
   * @param apiKey what it says under {@code X-API-Key}, heeded where there is no authorization
   * @throws StatusException {@link Status#UNAUTHENTICATED} when a key is needed and none, or an
   *     unknown one, is there
   */
  public Caller identify(@Nullable String authorization, @Nullable String apiKey) {
    if (files.isEmpty()) {
      return Caller.ANYBODY;
    }
    String credential = authorization == null ? apiKey : bearer(authorization);
    if (credential == null) {
      throw new StatusException(
          Status.UNAUTHENTICATED, "an API key is needed; send it as " + how());
    }
    KeyRing ring = keys == null ? null : keys.value();
    Caller caller = ring == null ? null : ring.find(credential);
    if (caller != null) {
      return caller;
    }
    Tokens accepted = tokens == null ? null : tokens.value();
    if (accepted != null && Tokens.isToken(credential)) {
      return accepted.find(credential);
    }
    throw new StatusException(Status.UNAUTHENTICATED, "the API key is not known");
  }

  private String how() {
    return "\"Authorization: Bearer KEY\" or as \"X-API-Key: KEY\""
        + (tokens == null ? "" : "; a JSON Web Token does as well");
  }

  private static @Nullable String bearer(String authorization) {
    return authorization.regionMatches(true, 0, SCHEME, 0, SCHEME.length())
        ? authorization.substring(SCHEME.length()).strip()
        : null;
  }

  /**
   * Looks now whether the files have changed.
   *
   * @throws StatusException when one is wrong
   */
  void look() {
    files.forEach(WatchedFile::look);
  }

  /** Looks at the files no more. */
  @Override
  public void close() {
    if (watcher != null) {
      watcher.shutdownNow();
    }
  }
}
