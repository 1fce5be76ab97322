package io.pipelane.server.hosts;

import static io.pipelane.config.StatusException.unavailable;

import io.netty.buffer.ByteBuf;
import io.netty.channel.EventLoop;
import io.netty.handler.codec.http.HttpHeaders;
import io.netty.handler.codec.http.HttpMethod;
import io.pipelane.config.StatusException;
import io.pipelane.modelstore.ModelVersion;
import io.pipelane.modelstore.repository.VersionChoice;
import io.pipelane.server.catalog.ModelCatalog;
import io.pipelane.server.catalog.ServedModel;
import io.pipelane.server.hosts.HostChoice.Here;
import io.pipelane.server.hosts.HostChoice.Plan;
import io.pipelane.server.metrics.HostCounts;
import io.pipelane.server.net.Transport;
import io.pipelane.server.state.HostsOverview;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.net.URI;
import java.security.SecureRandom;
import java.util.Comparator;
import java.util.HexFormat;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import java.util.function.LongSupplier;
import java.util.function.Supplier;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * This host among others: announces what it has, knows what they have, and says where a request is
 * best answered. Safe for any thread.
 */
public final class Hosts implements AutoCloseable {
  private static final int INSTANCE_BYTES = 8;
  private static final Pattern VERSION = Pattern.compile("[1-9][0-9]{0,17}");

  private final HostSettings settings;
  private final Function<String, HostRegistry> registries;
  private final LongSupplier nanoClock;
  private final HostCounters counters = new HostCounters();
  private volatile @Nullable Started started;

  /** The parts that there are once the host has a name. */
  private record Started(
      String name,
      HostRegistry registry,
      HostView view,
      Forwarder forwarder,
      LocalAnnouncement announcement,
      LocalLoad load) {}

  /**
   * A host that knows nobody yet.
   *
   * @param registries the registry of a host with a given name
   */
  Hosts(HostSettings settings, Function<String, HostRegistry> registries, LongSupplier nanoClock) {
    this.settings = settings;
    this.registries = registries;
    this.nanoClock = nanoClock;
  }

  /** A host that finds others in etcd. */
  public static Hosts inEtcd(HostSettings settings) {
    return new Hosts(settings, name -> new EtcdRegistry(settings.etcd(name)), System::nanoTime);
  }

  /**
   * Takes its place among the others.
   *
   * @param listening where this host listens; announced unless the settings say otherwise
   * @param transport of the event loops that requests come on
   */
  public void start(URI listening, Transport transport, ModelCatalog catalog, LocalLoad load) {
    HostAddress address = HostAddress.of(settings.advertise().orElse(listening));
    String name = address.toString();
    byte[] random = new byte[INSTANCE_BYTES];
    new SecureRandom().nextBytes(random);
    String instance = HexFormat.of().formatHex(random);
    LocalAnnouncement announcement = new LocalAnnouncement(address, instance, catalog, load);
    HostView view =
        new HostView(
            address,
            instance,
            HostAddress::resolve,
            Thread::startVirtualThread,
            settings.lease(),
            nanoClock,
            counters);
    Forwarder forwarder =
        new Forwarder(
            new Forwarder.Settings(
                name,
                transport,
                settings.tls(),
                settings.connectTimeout(),
                settings.answerTimeout()));
    HostRegistry registry = registries.apply(name);
    started = new Started(name, registry, view, forwarder, announcement, load);
    registry.start(announcement, view);
  }

  /** Has the others send nothing any more; returns at once. */
  public void leave() {
    Started now = started;
    if (now != null) {
      now.announcement.leave();
    }
  }

  /**
   * Whom to ask for a model. What a request names is looked up here first, as each host has a
   * default and labels of its own: others are asked for the version that would answer here.
   *
   * @param version as the client named it; empty where he named none
   * @param here what answers that here; null where nothing does
   * @param refusalHere says why a model that is known here does not answer; else empty
   * @return empty where this host is to answer, or where nobody else has the model, or is about to
   */
  public Optional<Elsewhere> elsewhere(
      String model, String version, @Nullable ServedModel here, Supplier<String> refusalHere) {
    Started now = started;
    long wanted = here != null ? here.version().version() : elsewhereWanted(version);
    if (wanted < 0 || (now == null && here != null)) {
      return Optional.empty();
    }
    if (now == null) { // Others may have it, nobody knows yet; what is known here is refused here.
      return refusalHere.get().isEmpty()
          ? Optional.of(new Elsewhere(this, Plan.NOBODY, version, false, false, refusalHere))
          : Optional.empty();
    }
    boolean keepsState = here != null && here.keepsState();
    @Nullable ServedModel usable = here != null && now.load.isUsable() ? here : null;
    long before = usable == null ? Long.MAX_VALUE : beforeRunNanos(now.load, usable.version());
    long hop = settings.hop().toNanos();
    if (before <= hop && !keepsState) {
      return Optional.empty();
    }
    OptionalLong beforeHere = usable == null ? OptionalLong.empty() : OptionalLong.of(before);
    String content = usable == null ? "" : usable.content();
    Here place = new Here(now.name, beforeHere, wanted, keepsState, content);
    // Asked first: what is heard between this and the choice is chosen from.
    boolean awaitsFirstWord = now.view.awaitsFirstWord();
    Plan plan = HostChoice.choose(place, model, now.view.hosts(), hop, nanoClock.getAsLong());
    boolean stays =
        plan.hosts().isEmpty()
            && (usable != null
                || !(plan.known()
                    || now.view.mayComeBack(model, wanted)
                    || (here == null && awaitsFirstWord && refusalHere.get().isEmpty())));
    boolean heedsTimeouts = here != null ? here.heedsTimeouts() : plan.heedTimeouts();
    String named = here != null ? Long.toString(wanted) : version;
    return stays
        ? Optional.empty()
        : Optional.of(new Elsewhere(this, plan, named, heedsTimeouts, usable != null, refusalHere));
  }

  private boolean awaitsFirstWord() {
    Started now = started;
    return now == null || now.view.awaitsFirstWord();
  }

  /**
   * Which version others must have of what this host has not: 0 for any, of those that the client
   * leaves to a default or a label of theirs; -1 for what is no version.
   */
  private static long elsewhereWanted(String version) {
    if (version.isEmpty() || VersionChoice.isLabel(version)) {
      return 0;
    }
    return VERSION.matcher(version).matches() ? Long.parseLong(version) : -1;
  }

  private static long beforeRunNanos(LocalLoad load, ModelVersion version) {
    return load.waitNanos() + load.stallNanos(version);
  }

  /**
   * The decision where a request goes, before it goes.
   *
   * @param version that it is to name there; empty for none
   * @param heedsTimeouts whether the request's own timeout counts
   * @param canComeBack whether this host can answer
   * @param refusalHere says why a model that is known here does not answer; else empty
   */
  public record Elsewhere(
      Hosts hosts,
      Plan plan,
      String version,
      boolean heedsTimeouts,
      boolean canComeBack,
      Supplier<String> refusalHere) {
    /**
     * Sends the request; on its event loop.
     *
     * @param headers as the client sent them
     * @param body stays the caller's, until the end
     * @param end may be told before this returns
     */
    public ForwardingAttempts begin(
        EventLoop loop,
        HttpMethod method,
        String target,
        HttpHeaders headers,
        ByteBuf body,
        Forward.Patience patience,
        ForwardingAttempts.End end) {
      Forward.Request request =
          new Forward.Request(
              loop,
              method,
              target,
              headers,
              body,
              plan.keepsState(),
              patience.cameNanos(),
              deadlineNanos(patience));
      ForwardingAttempts attempts = new ForwardingAttempts(this, request, end);
      attempts.next();
      return attempts;
    }

    /** When nobody waits for an answer any more, where the model's owner leaves that to clients. */
    private OptionalLong deadlineNanos(Forward.Patience patience) {
      return heedsTimeouts && patience.timeoutMicros() > 0
          ? OptionalLong.of(
              patience.cameNanos() + TimeUnit.MICROSECONDS.toNanos(patience.timeoutMicros()))
          : OptionalLong.empty();
    }

    /** What the client is told where nobody has answered. */
    StatusException unanswered() {
      String refusal = refusalHere.get();
      String others =
          hosts.awaitsFirstWord()
              ? "this host has not reached hosts.etcd yet; see its log"
              : "no host that may have this model can be asked at present: those that had it have gone"
                  + " or cannot be reached, or it is being imported";
      return unavailable(refusal.isEmpty() ? others : others + "; here " + refusal);
    }
  }

  boolean mayAsk(RemoteHost host) {
    return host.isThere() && !host.isSuspect(nanoClock.getAsLong()) && !isFull(host);
  }

  /** Whether a host has as many requests of ours as it may. */
  boolean isFull(RemoteHost host) {
    return host.underWay() >= settings.connections();
  }

  /**
   * Keeps requests away from a host that could not be reached, for as long as a lease, and has its
   * name looked up anew.
   */
  void suspect(RemoteHost host) {
    long clock = nanoClock.getAsLong();
    host.suspectUntil(clock + settings.lease().toNanos(), clock);
    Started now = started;
    if (now != null) {
      now.view.lookUp(host);
    }
  }

  /** Whether others are to be asked before a host, this one included. */
  boolean isLate(RemoteHost host) {
    return host.isLate(nanoClock.getAsLong());
  }

  ForwardAttempt send(RemoteHost host, Forward.Request request, Forward.Receiver receiver) {
    Started now = started;
    if (now == null) {
      throw new IllegalStateException("a request is sent before there are hosts");
    }
    return now.forwarder.send(host, request, receiver);
  }

  /**
   * How long the client of a request had been waiting when another host forwarded it. Anybody can
   * say that, and would be answered before others: whom this host does not know is not believed.
   *
   * @param peer who has sent the request to this host; null where the connection has ended
   * @return 0 where no known host is at the peer's address
   */
  public long waitedNanos(HttpHeaders headers, @Nullable SocketAddress peer) {
    long said = ForwardedHeaders.waitedNanos(headers);
    return said > 0 && peer instanceof InetSocketAddress from && isOfKnownHost(from) ? said : 0;
  }

  private boolean isOfKnownHost(InetSocketAddress peer) {
    Started now = started;
    return now != null
        && peer.getAddress() != null
        && now.view.hosts().stream()
            .anyMatch(host -> peer.getAddress().equals(host.socket().getAddress()));
  }

  /** What the metrics say. */
  public HostCounts counts() {
    Started now = started;
    if (now == null) {
      return new HostCounts(true, false, 0, 0, counters.read());
    }
    long clock = nanoClock.getAsLong();
    int suspects = (int) now.view.hosts().stream().filter(host -> host.isSuspect(clock)).count();
    return new HostCounts(
        true, now.view.isInReach(), now.view.hosts().size(), suspects, counters.read());
  }

  /** What is known of the others. */
  public HostsOverview overview() {
    Started now = started;
    if (now == null) {
      return HostsOverview.ALONE;
    }
    long clock = nanoClock.getAsLong();
    return new HostsOverview(
        now.name,
        now.view.isInReach(),
        now.view.hosts().stream()
            .map(host -> host.overview(clock))
            .sorted(Comparator.comparing(HostsOverview.Other::name))
            .toList());
  }

  /** Takes back what it has announced; blocks for some seconds at most. */
  @Override
  public void close() {
    Started now = started;
    if (now != null) {
      now.registry.close();
    }
  }
}
