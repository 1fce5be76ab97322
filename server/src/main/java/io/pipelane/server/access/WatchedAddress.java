package io.pipelane.server.access;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import java.lang.System.Logger.Level;
import java.net.ConnectException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpClient.Redirect;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.time.Duration;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Function;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * A value that another server publishes at an address, asked for again now and then. While it says
 * nothing, or something wrong, the value stays; why is logged once. Answers are read on the
 * client's own threads.
 */
final class WatchedAddress<T> implements Watched<T>, AutoCloseable {
  /** How long what was said is taken for what holds. */
  static final Duration REFRESH = Duration.ofMinutes(1);

  /** How long after a failure it is tried again. */
  static final Duration RETRY = Duration.ofSeconds(10);

  private static final Duration LONGEST_ANSWER = Duration.ofSeconds(5);
  private static final int MAXIMUM_BYTES = 1 << 20;
  private static final int OK = 200;
  private static final System.Logger LOG = System.getLogger(WatchedAddress.class.getName());

  private final String what;
  private final URI address;
  private final Function<String, T> reader;
  private final LongSupplier nanoClock;
  private final HttpClient client =
      HttpClient.newBuilder()
          .followRedirects(Redirect.NEVER)
          .connectTimeout(LONGEST_ANSWER)
          .build();
  private final AtomicBoolean asking = new AtomicBoolean();
  private volatile long dueNanos;
  private volatile long soonerNanos; // from when on it may be asked though it is not due
  private volatile @Nullable T value;
  private @Nullable String latest; // guarded by this, as the next
  private @Nullable String trouble;

  /**
   * Asks nothing yet.
   *
   * @param what is said there, in words
   * @param reader makes a value of the answer; throws {@link StatusException} when it is wrong
   */
  WatchedAddress(String what, URI address, Function<String, T> reader, LongSupplier nanoClock) {
    this.what = what;
    this.address = address;
    this.reader = reader;
    this.nanoClock = nanoClock;
    this.dueNanos = nanoClock.getAsLong();
    this.soonerNanos = dueNanos;
  }

  @Override
  public @Nullable T value() {
    return value;
  }

  @Override
  public void look() {
    try {
      ask().join();
    } catch (CompletionException e) {
      StatusException wrong = wrong(e);
      boolean _ = isNews(wrong.getMessage());
      throw wrong;
    }
  }

  private StatusException wrong(Throwable error) {
    Throwable cause =
        error instanceof CompletionException && error.getCause() != null ? error.getCause() : error;
    return switch (cause) {
      case StatusException known -> known;
      case ConnectException _ ->
          new StatusException(
              Status.UNAVAILABLE,
              address + ": the connection was refused, or could not be made",
              error);
      default -> new StatusException(Status.UNAVAILABLE, address + ": " + cause, error);
    };
  }

  /** Whether the latest answer has come to something else than the one before; null is well. */
  private synchronized boolean isNews(@Nullable String now) {
    boolean isNews = !Objects.equals(now, trouble);
    trouble = now;
    return isNews;
  }

  @Override
  public void lookAgain() {
    if (nanoClock.getAsLong() - dueNanos >= 0) {
      boolean _ = begin();
    }
  }

  /**
   * Reads it now though it is not due; hardly more than once in {@link #RETRY}, however many speak
   * of what it does not hold.
   */
  @Override
  public void lookSooner() {
    long now = nanoClock.getAsLong();
    if (now - soonerNanos >= 0 && begin()) {
      soonerNanos = now + RETRY.toNanos();
    }
  }

  /** Asks on the client's threads; false where that is under way already. */
  private boolean begin() {
    if (!asking.compareAndSet(false, true)) {
      return false;
    }
    CompletableFuture<Void> _ =
        ask()
            .whenComplete(
                (_, error) -> {
                  asking.set(false);
                  tell(error);
                });
    return true;
  }

  private void tell(@Nullable Throwable error) {
    String now = error == null ? null : wrong(error).getMessage();
    if (!isNews(now)) {
      return;
    }
    if (now == null) {
      LOG.log(Level.INFO, "{0} can be read at {1} again", what, address);
    } else {
      LOG.log(Level.WARNING, "{0} stay as they were: {1}", what, now);
    }
  }

  private CompletableFuture<Void> ask() {
    HttpRequest request = HttpRequest.newBuilder(address).timeout(LONGEST_ANSWER).build();
    return client
        .sendAsync(request, BodyHandlers.limiting(BodyHandlers.ofString(), MAXIMUM_BYTES))
        .thenAccept(this::take)
        .orTimeout(2 * LONGEST_ANSWER.toMillis(), TimeUnit.MILLISECONDS)
        .whenComplete((_, error) -> due(error == null ? REFRESH : RETRY));
  }

  private void due(Duration from) {
    dueNanos = nanoClock.getAsLong() + from.toNanos();
  }

  private synchronized void take(HttpResponse<String> answer) {
    if (answer.statusCode() != OK) {
      throw new StatusException(
          Status.UNAVAILABLE, address + " answers with status " + answer.statusCode());
    }
    if (!answer.body().equals(latest)) {
      value = reader.apply(answer.body());
      latest = answer.body();
      LOG.log(Level.INFO, "{0} are in force as {1} has them", what, address);
    }
  }

  @Override
  public void close() {
    client.shutdownNow();
  }
}
