package io.pipelane.server.access;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.server.access.TokenSettings.KeysAtAddress;
import io.pipelane.server.access.TokenSettings.KeysInFile;
import java.lang.System.Logger.Level;
import java.net.URI;
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
 * The control of who asks and what he may. Without a file of keys everybody may do everything; with
 * one, what is not public needs an API key or a token. Files are read again when they change, an
 * address is asked now and then, on threads of their own. Safe for any thread; never blocks.
 */
public final class AccessControl implements AutoCloseable {
  private static final String WHAT_TOKENS_NEED = "keys of tokens";
  private static final System.Logger LOG = System.getLogger(AccessControl.class.getName());
  private static final Duration LOOK_EVERY = Duration.ofSeconds(2);
  private static final String SCHEME = "Bearer ";

  private final @Nullable WatchedFile<KeyRing> keys;
  private final @Nullable Watched<Tokens> tokens;
  private final List<Watched<?>> watched = new ArrayList<>();
  private final RefusedCredentials refused = new RefusedCredentials(System::nanoTime);
  private final OptionalInt managementPort;
  private final @Nullable ScheduledExecutorService watcher;

  private AccessControl(
      Optional<Path> keyFile,
      Optional<TokenSettings> tokenSettings,
      OptionalInt managementPort,
      InstantSource clock) {
    this.managementPort = managementPort;
    keys = keyFile.map(AccessControl::keys).orElse(null);
    if (keys != null) {
      read(keys, "security.api-keys", keyFile.orElseThrow());
    }
    tokens = tokenSettings.map(settings -> tokens(settings, clock)).orElse(null);
    if (watched.isEmpty()) {
      watcher = null;
      return;
    }
    watcher =
        Executors.newSingleThreadScheduledExecutor(
            Thread.ofPlatform().name("key-file").daemon().factory());
    ScheduledFuture<?> _ =
        watcher.scheduleWithFixedDelay(
            () -> watched.forEach(Watched::lookAgain),
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

  private Watched<Tokens> tokens(TokenSettings settings, InstantSource clock) {
    TokenAllowances allowances = new TokenAllowances(System::nanoTime);
    return switch (settings.keys()) {
      case KeysInFile(Path path) -> {
        WatchedFile<Tokens> file =
            new WatchedFile<>(
                WHAT_TOKENS_NEED,
                path,
                _ -> new Tokens(settings, TokenKeys.read(path), allowances, clock));
        read(file, "security.jwt-keys", path);
        yield file;
      }
      case KeysAtAddress(URI url) -> {
        WatchedAddress<Tokens> address =
            new WatchedAddress<>(
                WHAT_TOKENS_NEED,
                url,
                text -> new Tokens(settings, TokenKeys.published(url, text), allowances, clock),
                System::nanoTime);
        watched.add(address);
        try {
          address.look();
        } catch (StatusException e) {
          LOG.log(
              Level.WARNING, "no token is accepted until its keys are there: {0}", e.getMessage());
        }
        yield address;
      }
    };
  }

  private void read(WatchedFile<?> file, String key, Path path) {
    file.look();
    if (file.value() == null) {
      throw new StatusException(Status.INVALID_ARGUMENT, key + ": there is no file " + path);
    }
    watched.add(file);
  }

  /** Lets everybody do everything, at every port. */
  public static AccessControl open() {
    return of(Optional.empty(), Optional.empty(), OptionalInt.empty());
  }

  /**
   * Asks for keys, or tokens, where it is said which are good. Waits for an address to answer; one
   * that does not, keeps tokens out until it does.
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

  /** Whether what is not public needs a key or a token. */
  public boolean needsKey() {
    return !watched.isEmpty();
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
    if (watched.isEmpty()) {
      return Caller.ANYBODY;
    }
    String credential = authorization == null ? apiKey : bearer(authorization);
    if (credential == null || credential.isEmpty()) {
      throw new StatusException(
          Status.UNAUTHENTICATED, "an API key is needed; send it as " + how());
    }
    try {
      return find(credential);
    } catch (StatusException e) {
      if (e.status() == Status.UNAUTHENTICATED) {
        refused.add(e);
      }
      throw e;
    }
  }

  private Caller find(String credential) {
    KeyRing ring = keys == null ? null : keys.value();
    Caller caller = ring == null ? null : ring.find(credential);
    if (caller != null) {
      return caller;
    }
    if (tokens != null && Tokens.isToken(credential)) {
      return find(credential, tokens, accepted(tokens));
    }
    throw new StatusException(Status.UNAUTHENTICATED, "the API key is not known");
  }

  private static Caller find(String token, Watched<Tokens> tokens, Tokens accepted) {
    try {
      return accepted.find(token);
    } catch (StatusException e) {
      if (accepted.lacksKeyOf(token)) {
        tokens.lookSooner();
      }
      throw e;
    }
  }

  private static Tokens accepted(Watched<Tokens> tokens) {
    Tokens accepted = tokens.value();
    if (accepted == null) {
      throw StatusException.unavailable(
          "the keys that tokens are signed with are not there yet; try again",
          WatchedAddress.RETRY);
    }
    return accepted;
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
   * Looks now whether anything has changed.
   *
   * @throws StatusException when one is wrong
   */
  void look() {
    watched.forEach(Watched::look);
  }

  /** Looks no more. */
  @Override
  public void close() {
    if (watcher != null) {
      watcher.shutdownNow();
    }
    if (tokens instanceof WatchedAddress<Tokens> address) {
      address.close();
    }
  }
}
