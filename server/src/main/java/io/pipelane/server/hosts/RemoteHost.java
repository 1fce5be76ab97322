package io.pipelane.server.hosts;

import io.pipelane.modelstore.ModelVersion;
import io.pipelane.server.state.HostsOverview;
import java.lang.System.Logger.Level;
import java.net.InetSocketAddress;
import java.time.Duration;
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
import java.util.function.LongSupplier;
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
    /** With an answer by which another host could do better: 401, 403, 404, 503 or 507. */
    REFUSED,
    /** The connection did not come about, or broke. */
    LOST,
    /** No answer came while a host may take for one. */
    LATE,
    /** No answer came before the request's deadline. */
    OVERDUE,
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
  private final LongSupplier nanoClock;
  private final long lateNanos;
  private final AtomicInteger underWay = new AtomicInteger();
  private final AtomicBoolean lookingUp = new AtomicBoolean();
  private final AtomicBoolean complainedOf = new AtomicBoolean();
  private final AtomicBoolean late = new AtomicBoolean();

  /** Whether a request is under way that tries it again after it was late. */
  private final AtomicBoolean trying = new AtomicBoolean();

  /** Counts its answers and its starts. */
  private final AtomicInteger signsOfLife = new AtomicInteger();

  private final Set<Runnable> watchers = ConcurrentHashMap.newKeySet();
  private volatile InetSocketAddress socket;
  private volatile Word word;
  private volatile long suspectUntilNanos;
  private volatile boolean suspect;
  private volatile long lateUntilNanos;
  private volatile boolean movedPerhaps;
  private volatile long lookedUpNanos;
  private volatile boolean lookedUp;
  private volatile boolean gone;
  private volatile long leftNanos; // read where it is gone or leaving

  /** How long requests have waited until their deadlines since a sign of life; guarded by this. */
  private long vainNanos;

  private long vainUntilNanos; // guarded by this
  private int vainSince; // that sign's number; guarded by this

  /**
   * A host that has said something; a name has to be looked up before it is connected to.
   *
   * @param lateFor how long others are asked before it when it has not answered in time
   */
  RemoteHost(
      Announcement announcement, HostCounters counters, LongSupplier nanoClock, Duration lateFor) {
    this.address = announcement.address();
    this.socket = address.withoutLookup();
    this.counters = counters;
    this.nanoClock = nanoClock;
    this.lateNanos = lateFor.toNanos();
    this.word = heard(announcement);
    this.leftNanos = nanoClock.getAsLong();
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
      showsLife();
      movedPerhaps = true;
    }
    if (announcement.leaving() && !word.announcement.leaving()) {
      leftNanos = nanoClock.getAsLong();
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

  private void showsLife() {
    signsOfLife.incrementAndGet();
    late.set(false);
  }

  /**
   * Counts a wait that has ended with its deadline, from where the last one ended: who wait at a
   * time count once.
   *
   * @param since the number of the last sign of life when it began
   * @return how long requests have waited since the last one; 0 where one has come meanwhile
   */
  private synchronized long waitedInVain(long beginNanos, int since, long nowNanos) {
    if (signsOfLife.get() != since) {
      return 0;
    }
    if (vainSince != since || vainNanos == 0) {
      vainSince = since;
      vainNanos = 0;
      vainUntilNanos = beginNanos;
    }
    long from = later(beginNanos, vainUntilNanos);
    vainNanos = Math.max(vainNanos + Math.max(0, nowNanos - from), nowNanos - beginNanos);
    vainUntilNanos = later(nowNanos, vainUntilNanos);
    return vainNanos;
  }

  private static long later(long one, long other) {
    return one - other > 0 ? one : other;
  }

  /** Has others asked before it for a while, or until it answers, as it has not done so in time. */
  private void putOff() {
    lateUntilNanos = nanoClock.getAsLong() + lateNanos;
    if (!late.getAndSet(true)) {
      LOG.log(
          Level.WARNING,
          "host {0} has not answered for hosts.answer-timeout; others are asked before it for {1}",
          address,
          Duration.ofNanos(lateNanos));
    }
  }

  /** Whether others are to be asked before it: for a while, and then while one request tries it. */
  boolean isLate(long nowNanos) {
    return late.get() && (trying.get() || lateUntilNanos - nowNanos > 0);
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
   * Whether it is importing a model, or has it, or had it when it left. Of a host that left longer
   * ago than {@link HostView#ABSENCE}, nothing counts.
   *
   * @param version 0 for any
   */
  boolean mayBringBack(String name, long version) {
    Word now = word;
    boolean hasLeft = gone || now.announcement.leaving();
    if (hasLeft && isForgotten()) {
      return false;
    }
    Set<Long> coming = now.coming.getOrDefault(name, Set.of());
    return (version == 0 ? !coming.isEmpty() : coming.contains(version))
        || offered(name, version).isPresent();
  }

  /** Whether a host that has gone, or is leaving, has been away for too long to come back. */
  boolean isForgotten() {
    return nanoClock.getAsLong() - leftNanos >= HostView.ABSENCE.toNanos();
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
    leftNanos = nanoClock.getAsLong();
    gone = true;
    watchers.forEach(Runnable::run);
  }

  /**
   * A request that the host has. It tries the host if that was late a while ago and no other does.
   */
  final class Given {
    private final AtomicInteger since;
    private final Runnable whenGone;
    private final long givenNanos = nanoClock.getAsLong();
    private final int lifeBefore = signsOfLife.get();
    private final boolean tries =
        late.get() && !isLate(nanoClock.getAsLong()) && trying.compareAndSet(false, true);

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

    /**
     * It has ended with its deadline, which says nothing of the host: it may be short. But the host
     * is late where requests have waited as long for nothing as one may wait for an answer, and
     * stays late where this one tried it.
     *
     * @param answerTimeout how long that is
     */
    void endOverdue(Duration answerTimeout) {
      long vain = waitedInVain(givenNanos, lifeBefore, nanoClock.getAsLong());
      if (tries || vain >= answerTimeout.toNanos()) {
        late();
      }
      end(Outcome.OVERDUE);
    }

    /** It has ended; called once. */
    void end(Outcome outcome) {
      watchers.remove(whenGone);
      since.decrementAndGet();
      underWay.decrementAndGet();
      if (outcome == Outcome.ANSWERED && complainedOf.get()) {
        complainedOf.set(false);
      }
      switch (outcome) {
        case ANSWERED, REFUSED, TOO_LARGE -> showsLife();
        case LATE -> late();
        case OVERDUE, LOST, CANCELLED -> {}
      }
      if (tries) {
        trying.set(false);
      }
      counters.count(address.toString(), outcome);
    }

    /** What has answered others meanwhile is alive; what is late already is put off by a try. */
    private void late() {
      if (signsOfLife.get() == lifeBefore && (tries || !late.get())) {
        putOff();
      }
    }
  }
}
