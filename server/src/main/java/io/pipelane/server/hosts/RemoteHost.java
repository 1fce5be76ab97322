package io.pipelane.server.hosts;

import io.pipelane.modelstore.ModelVersion;
import io.pipelane.server.state.HostsOverview;
import java.lang.System.Logger.Level;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/**
 * Another host: what it has said last, and what it has been given since. Safe for any thread; what
 * it says is replaced by one.
 */
final class RemoteHost {
  /** The outcome of a request that was given to a host. */
  enum Outcome {
    /** With the host's answer. */
    ANSWERED,
    /** With an answer by which another host could do better: 401, 403, 404 or 503. */
    REFUSED,
    /** The connection did not come about, or broke. */
    LOST,
    /** No answer came in time. */
    LATE,
    /** The answer was larger than any may be, or found no room here. */
    TOO_LARGE,
    /** The client had gone. */
    CANCELLED
  }

  /**
   * The latest word of a host, and the requests that it was given since and has not answered. Its
   * next word counts those, so that none counts twice.
   */
  private record Word(
      Announcement announcement,
      Map<String, List<OfferedModel>> models,
      Map<String, Set<Long>> coming,
      AtomicInteger since) {}

  private static final System.Logger LOG = System.getLogger(RemoteHost.class.getName());

  /** A name that was not known is looked up again after so long. */
  private static final long RETRY_NANOS = TimeUnit.SECONDS.toNanos(1);

  final HostAddress address;
  private final HostCounters counters;
  private final AtomicInteger underWay = new AtomicInteger();
  private final AtomicBoolean lookingUp = new AtomicBoolean();
  private final AtomicBoolean complainedOf = new AtomicBoolean();
  private final Set<Runnable> watchers = ConcurrentHashMap.newKeySet();
  private volatile InetSocketAddress socket;
  private volatile Word word;
  private volatile long suspectUntilNanos;
  private volatile boolean suspect;
  private volatile long lateUntilNanos;
  private volatile boolean late;
  private volatile boolean movedPerhaps;
  private volatile long lookedUpNanos;
  private volatile boolean lookedUp;
  private volatile boolean gone;

  /** A host that has said something; a name has to be looked up before it is connected to. */
  RemoteHost(Announcement announcement, HostCounters counters) {
    this.address = announcement.address();
    this.socket = address.withoutLookup();
    this.counters = counters;
    this.word = heard(announcement);
  }

  private static Word heard(Announcement announcement) {
    Map<String, List<OfferedModel>> models = new HashMap<>();
    for (OfferedModel model : announcement.models()) {
      models.computeIfAbsent(model.name(), _ -> new ArrayList<>(1)).add(model);
    }
    Map<String, Set<Long>> coming = new HashMap<>();
    for (ModelVersion version : announcement.coming()) {
      coming.computeIfAbsent(version.model(), _ -> new HashSet<>()).add(version.version());
    }
    return new Word(announcement, models, coming, new AtomicInteger());
  }

  /** What a host that leaves has had: it may come back with that. */
  private Word leavesWith(Announcement announcement) {
    Word had = word;
    return new Word(announcement, had.models, had.coming, new AtomicInteger());
  }

  /**
   * Takes what it says now. One that has been started anew is no longer suspect, and may be
   * somewhere else.
   */
  void says(Announcement announcement) {
    if (!announcement.instance().equals(word.announcement.instance())) {
      suspect = false;
      late = false;
      movedPerhaps = true;
    }
    word = announcement.leaving() ? leavesWith(announcement) : heard(announcement);
  }

  /**
   * Whether somebody has to look up where it is, who then says so; one at a time. What makes it
   * doubtful from now on is for the next lookup.
   */
  boolean beginLookingUp(long nowNanos) {
    boolean isTold = lookedUp && nowNanos - lookedUpNanos < RETRY_NANOS;
    boolean isDue = movedPerhaps || (socket.isUnresolved() && !isTold);
    if (!isDue || !lookingUp.compareAndSet(false, true)) {
      return false;
    }
    movedPerhaps = false;
    return true;
  }

  /** Where it is; where it was, if its name is not known at present. */
  void foundAt(InetSocketAddress found, long nowNanos) {
    if (!found.isUnresolved() || socket.isUnresolved()) {
      socket = found;
    }
    lookedUpNanos = nowNanos;
    lookedUp = true;
    lookingUp.set(false);
  }

  /** Whether it is known where it is, and it has not gone. */
  boolean isThere() {
    return !gone && !socket.isUnresolved();
  }

  /** Where it is connected to. */
  InetSocketAddress socket() {
    return socket;
  }

  Announcement announcement() {
    return word.announcement;
  }

  /** Keeps requests away from it for a while, as it could not be reached: it may have moved. */
  void suspectUntil(long nanos, long nowNanos) {
    if (!isSuspect(nowNanos)) { // One lookup is enough for all that was under way there.
      movedPerhaps = true;
    }
    suspectUntilNanos = nanos;
    suspect = true;
  }

  /** Has it asked last, as it has not answered in time; for a while, or until it answers. */
  void lateUntil(long nanos) {
    lateUntilNanos = nanos;
    late = true;
  }

  /** Whether it has not answered in time, and nothing since; also once it may be tried again. */
  boolean wasLate() {
    return late;
  }

  /** Whether others are to be asked before it. */
  boolean isLate(long nowNanos) {
    return late && lateUntilNanos - nowNanos > 0;
  }

  /** Says why a request was lost there, once until it has answered one. */
  void complainOf(Throwable cause) {
    if (!complainedOf.getAndSet(true)) {
      LOG.log(Level.WARNING, "host {0} cannot be asked: {1}", address, cause.toString());
    }
  }

  boolean isSuspect(long nowNanos) {
    return suspect && suspectUntilNanos - nowNanos > 0;
  }

  /**
   * What it has of a model.
   *
   * @param version 0 for the highest
   */
  Optional<OfferedModel> offered(String name, long version) {
    @Nullable OfferedModel found = null;
    for (OfferedModel model : word.models.getOrDefault(name, List.of())) {
      boolean wanted = version == 0 || version == model.version();
      if (wanted && (found == null || found.version() < model.version())) {
        found = model;
      }
    }
    return Optional.ofNullable(found);
  }

  /**
   * Whether it is importing a model, or has had it and takes no more requests.
   *
   * @param version 0 for any
   */
  boolean mayBringBack(String name, long version) {
    Word now = word;
    boolean hasLeft = gone || now.announcement.leaving();
    Set<Long> coming = now.coming.getOrDefault(name, Set.of());
    return (version == 0 ? !coming.isEmpty() : coming.contains(version))
        || (hasLeft && offered(name, version).isPresent());
  }

  /** From a request's coming there to the beginning of its run. */
  long beforeRunNanos(OfferedModel model) {
    Word now = word;
    long since = now.since.get() * now.announcement.runMicros() / now.announcement.lanes();
    return TimeUnit.MICROSECONDS.toNanos(
        now.announcement.waitMicros() + since + model.stallMicros());
  }

  /** Requests that it has been given and has not answered. */
  int underWay() {
    return underWay.get();
  }

  /**
   * Counts a request that it is given.
   *
   * @param whenGone run if the host goes, which may be just after the request's end
   */
  Given give(Runnable whenGone) {
    return new Given(word.since, whenGone);
  }

  /** What is known of it. */
  HostsOverview.Other overview(long nowNanos) {
    Announcement said = word.announcement;
    return new HostsOverview.Other(
        address.toString(),
        state(said, nowNanos),
        said.lanes(),
        said.waitMicros(),
        underWay(),
        said.models().stream()
            .map(each -> new HostsOverview.Model(each.name(), each.version(), each.stallMicros()))
            .toList());
  }

  private HostsOverview.State state(Announcement said, long nowNanos) {
    if (said.leaving()) {
      return HostsOverview.State.LEAVING;
    }
    if (isSuspect(nowNanos)) {
      return HostsOverview.State.SUSPECT;
    }
    if (isLate(nowNanos)) {
      return HostsOverview.State.LATE;
    }
    return isThere() ? HostsOverview.State.READY : HostsOverview.State.UNKNOWN;
  }

  @Override
  public String toString() {
    return address.toString();
  }

  /** It has gone for good. */
  void gone() {
    gone = true;
    watchers.forEach(Runnable::run);
  }

  /** A request that the host has. */
  final class Given {
    private final AtomicInteger since;
    private final Runnable whenGone;

    private Given(AtomicInteger since, Runnable whenGone) {
      this.since = since;
      this.whenGone = whenGone;
      since.incrementAndGet();
      underWay.incrementAndGet();
      watchers.add(whenGone);
      if (gone) {
        whenGone.run();
      }
    }

    /** It has ended; called once. */
    void end(Outcome outcome) {
      watchers.remove(whenGone);
      since.decrementAndGet();
      underWay.decrementAndGet();
      if (outcome == Outcome.ANSWERED && complainedOf.get()) {
        complainedOf.set(false);
      }
      if (late && (outcome == Outcome.ANSWERED || outcome == Outcome.REFUSED)) {
        late = false;
      }
      counters.count(address.toString(), outcome);
    }
  }
}
