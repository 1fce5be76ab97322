package io.pipelane.server.hosts;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import java.lang.System.Logger.Level;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executor;
import java.util.function.Function;
import java.util.function.LongSupplier;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * The view that a host has of the others. Written by the registry's thread, but for where a host
 * is, which its lookup tells; read by any.
 */
final class HostView implements HostRegistry.Listener {
  private static final System.Logger LOG = System.getLogger(HostView.class.getName());

  /** More are left aside. */
  private static final int MOST_HOSTS = 1024;

  /** So long a host that has gone may come back with what it had, as after an update. */
  static final Duration ABSENCE = Duration.ofMinutes(1);

  private final HostAddress ownAddress;
  private final String own;
  private final String ownInstance;
  private final Function<HostAddress, InetSocketAddress> resolver;
  private final Executor lookups;
  private final Duration lease;
  private final LongSupplier nanoClock;
  private final HostCounters counters;
  private final Map<String, RemoteHost> hosts = new ConcurrentHashMap<>();

  /**
   * Hosts that have gone and may come back with what they had. Written by the registry's thread.
   */
  private final Map<String, RemoteHost> former = new ConcurrentHashMap<>();

  /** Hosts that the registry did not know when it was back, and until when they may come back. */
  private final Map<String, Long> awaited = new HashMap<>();

  private final Set<String> complainedOf = new HashSet<>();
  private boolean complainedOfOwn;
  private final long startNanos;
  private volatile boolean inReach;
  private volatile boolean hasHeardAll;

  /**
   * A view of nobody.
   *
   * @param own this host's address, which is left out; if it is spoken to by TLS, so are others
   * @param ownInstance what tells this start of it from another process that takes its name
   * @param resolver looks names up; may block, and throws nothing
   * @param lookups has it done
   * @param lease how long a host may be unknown to a registry that is back before it has gone, and
   *     others are asked before one that has not answered in time
   */
  HostView(
      HostAddress own,
      String ownInstance,
      Function<HostAddress, InetSocketAddress> resolver,
      Executor lookups,
      Duration lease,
      LongSupplier nanoClock,
      HostCounters counters) {
    this.ownAddress = own;
    this.own = own.toString();
    this.ownInstance = ownInstance;
    this.resolver = resolver;
    this.lookups = lookups;
    this.lease = lease;
    this.nanoClock = nanoClock;
    this.counters = counters;
    this.startNanos = nanoClock.getAsLong();
  }

  /** Every other host. */
  Collection<RemoteHost> hosts() {
    return hosts.values();
  }

  /**
   * Whether a model that no host had a moment ago may be there soon: one is importing it, or has it
   * by now, or has had it and has gone a short while ago.
   *
   * @param version 0 for any
   */
  boolean mayComeBack(String model, long version) {
    Predicate<RemoteHost> bringsBack = host -> host.mayBringBack(model, version);
    return hosts.values().stream().anyMatch(bringsBack)
        || former.values().stream().anyMatch(bringsBack)
        || hosts.values().stream().anyMatch(bringsBack); // One has come back between the looks.
  }

  /**
   * Whether the registry has not been read since the start, which is a short while ago: others may
   * have any model.
   */
  boolean awaitsFirstWord() {
    return !hasHeardAll && nanoClock.getAsLong() - startNanos < ABSENCE.toNanos();
  }

  /** Whether the registry is in reach. */
  boolean isInReach() {
    return inReach;
  }

  @Override
  public void all(Map<String, String> announcements) {
    // Others may have been cut off as well, their leases run out, and come back one by one.
    long until = nanoClock.getAsLong() + lease.toNanos();
    hosts.keySet().forEach(host -> awaited.put(host, until));
    announcements.forEach(this::said);
    hasHeardAll = true;
  }

  @Override
  public void said(String host, String text) {
    awaited.remove(host);
    @Nullable Announcement announcement = read(host, text);
    if (announcement == null) {
      gone(host);
    } else if (host.equals(own)) {
      checkOwn(announcement);
    } else {
      RemoteHost known = hosts.get(host);
      boolean isWhole = !announcement.models().isEmpty() && announcement.coming().isEmpty();
      if (known != null && known.address.equals(announcement.address())) {
        known.says(announcement);
        lookUp(known);
      } else {
        gone(host);
        found(host, announcement);
      }
      if (isWhole) { // What it had and does not say now it has gone on without.
        former.remove(host);
      }
    }
  }

  private void found(String host, Announcement announcement) {
    if (hosts.size() < MOST_HOSTS) {
      RemoteHost found = new RemoteHost(announcement, counters, nanoClock, lease);
      hosts.put(host, found);
      lookUp(found);
      LOG.log(Level.INFO, "host {0} is there", host);
    }
  }

  @Override
  public void turn() {
    long now = nanoClock.getAsLong();
    List<String> silent =
        awaited.entrySet().stream()
            .filter(host -> now - host.getValue() >= 0)
            .map(Map.Entry::getKey)
            .toList();
    silent.forEach(this::gone);
    former.values().removeIf(RemoteHost::isForgotten);
    hosts.values().forEach(this::lookUp);
  }

  /** Looks up where a host is, if that is in doubt; returns at once. On any thread. */
  void lookUp(RemoteHost host) {
    // Elsewhere, as a lookup may take longer than this host's lease.
    if (host.beginLookingUp(nanoClock.getAsLong())) {
      lookups.execute(() -> host.foundAt(resolver.apply(host.address), nanoClock.getAsLong()));
    }
  }

  private @Nullable Announcement read(String host, String text) {
    try {
      Announcement announcement = Announcement.read(text);
      checkTls(announcement.address());
      complainedOf.remove(host);
      return announcement;
    } catch (StatusException e) {
      if (complainedOf.size() < MOST_HOSTS && complainedOf.add(host)) {
        LOG.log(Level.WARNING, "host {0} is left aside: {1}", host, e.getMessage());
      }
      return null;
    }
  }

  /** Whoever can write to the registry could have keys sent to himself in plain text otherwise. */
  private void checkTls(HostAddress address) {
    if (ownAddress.secure() && !address.secure()) {
      throw new StatusException(
          Status.INVALID_ARGUMENT,
          "it does not speak TLS, as this one does, so it is sent no request");
    }
  }

  private void checkOwn(Announcement announcement) {
    if (!announcement.instance().equals(ownInstance) && !complainedOfOwn) {
      complainedOfOwn = true;
      LOG.log(
          Level.WARNING,
          "another server announces itself as {0}, too; give each a hosts.advertise of its own",
          own);
    }
  }

  @Override
  public void gone(String host) {
    awaited.remove(host);
    RemoteHost lost = hosts.get(host);
    if (lost != null) {
      LOG.log(Level.INFO, "host {0} has gone", host);
      if (former.size() < MOST_HOSTS) {
        former.put(host, lost);
      }
      lost.gone();
      hosts.remove(host); // Last: at no moment is its model nowhere.
    }
  }

  @Override
  public void reached(boolean nowInReach) {
    inReach = nowInReach;
  }
}
