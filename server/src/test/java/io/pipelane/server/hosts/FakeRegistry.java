package io.pipelane.server.hosts;

import io.netty.handler.ssl.SslContext;
import io.pipelane.modelstore.ModelVersion;
import io.pipelane.server.net.OutgoingTls;
import java.net.URI;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** A registry that says what the test says. */
public final class FakeRegistry implements HostRegistry {
  /** Requests that another host is given at a time. */
  public static final int CONNECTIONS = 16;

  private static final Duration LONG = Duration.ofMinutes(1);

  private @Nullable Listener listener;
  private @Nullable Supplier<String> word;
  private boolean inReach = true;
  private boolean closed;

  /** A host that hears of others by this registry. */
  public Hosts hosts() {
    return hosts(LONG, OutgoingTls.open(Optional.empty(), Optional.empty()).http());
  }

  /**
   * The same.
   *
   * @param answerTimeout how long others may take to answer
   * @param tls for those that are spoken to by TLS
   */
  public Hosts hosts(Duration answerTimeout, SslContext tls) {
    return hosts(Duration.ofSeconds(10), answerTimeout, tls);
  }

  /** The same with little patience for connections that do not come about. */
  public Hosts hostsWithin(Duration connectTimeout) {
    return hosts(connectTimeout, LONG, OutgoingTls.open(Optional.empty(), Optional.empty()).http());
  }

  private Hosts hosts(Duration connectTimeout, Duration answerTimeout, SslContext tls) {
    HostSettings settings =
        new HostSettings(
            List.of(),
            Optional.empty(),
            "/test/",
            LONG,
            LONG,
            Duration.ofMillis(1),
            connectTimeout,
            answerTimeout,
            CONNECTIONS,
            tls,
            tls);
    return new Hosts(settings, _ -> this, System::nanoTime);
  }

  /** How many requests a host has sent to another one, with what outcome, as it counts them. */
  public static long counted(Hosts hosts, URI other, String outcome) {
    return hosts
        .counts()
        .forwarded()
        .getOrDefault(other.getAuthority(), Map.of())
        .getOrDefault(outcome, 0L);
  }

  @Override
  public void start(Supplier<String> said, Listener told) {
    word = said;
    listener = told;
    if (inReach) {
      told.all(Map.of());
    }
    told.reached(inReach);
  }

  /** Whoever starts with it from now on hears of nobody. */
  public void isOutOfReach() {
    inReach = false;
  }

  private Listener listener() {
    if (listener == null) {
      throw new IllegalStateException("nobody listens");
    }
    return listener;
  }

  /** What the host says of itself. */
  public String word() {
    if (word == null) {
      throw new IllegalStateException("nobody speaks");
    }
    return word.get();
  }

  /** A host says that it has a model, and needs so long before it begins to run it. */
  public void has(URI url, String model, long version, boolean keepsState, Duration before) {
    has(url, model, version, keepsState, before, "");
  }

  /** The same of a model with a content. */
  public void has(
      URI url, String model, long version, boolean keepsState, Duration before, String content) {
    has(url, before, new OfferedModel(model, version, keepsState, 0, content));
  }

  /** A host says that it has a model whose owner says how long its answers may take. */
  public void hasWithOwnTimeout(URI url, String model) {
    has(url, Duration.ZERO, new OfferedModel(model, 1, false, 0, "", false));
  }

  private void has(URI url, Duration before, OfferedModel offered) {
    Announcement announcement =
        new Announcement(
            HostAddress.of(url), "first", false, 1, before.toNanos() / 1000, 0, List.of(offered));
    listener().said(HostAddress.of(url).toString(), announcement.write());
  }

  /** The registry is out of reach for a while, and knows nobody when it is back. */
  public void isBackWithoutAnybody() {
    listener().reached(false);
    listener().all(Map.of());
    listener().reached(true);
    listener().turn();
  }

  /** A host says that it is importing a model. */
  public void imports(URI url, String model, long version) {
    HostAddress address = HostAddress.of(url);
    ModelVersion coming = new ModelVersion(model, version);
    Announcement announcement =
        new Announcement(address, "first", false, 1, 0, 0, List.of(), List.of(coming));
    listener().said(address.toString(), announcement.write());
  }

  /** A host says that it takes no more requests. */
  public void leaves(URI url) {
    HostAddress address = HostAddress.of(url);
    Announcement announcement = new Announcement(address, "first", true, 1, 0, 0, List.of());
    listener().said(address.toString(), announcement.write());
  }

  /** A host has gone. */
  public void gone(URI url) {
    listener().gone(HostAddress.of(url).toString());
  }

  @Override
  public void close() {
    closed = true;
  }

  public boolean isClosed() {
    return closed;
  }
}
