package io.pipelane.switcher.placement;

import io.pipelane.modelstore.ModelVersion;
import io.pipelane.switcher.memory.StructureRange;
import java.lang.System.Logger.Level;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.function.LongSupplier;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * The sessions that stand ready, in each lane, on devices that are not their models'. Such a device
 * can take over a model that is asked for without building any. Not safe for several threads;
 * blocks while one is built.
 */
final class ReadySessions {
  /*
   * A session alone is there, no weights: those come when the model is asked for. It lies in
   * working memory, of which a quarter stays free, and gives way like any other that is idle. So
   * nothing is remembered here of what is there: that is counted anew each time. Variants of one
   * structure share a session, so sessions are counted, not models.
   *
   * Where sessions are bound to lanes each model has one first. Those in other lanes come behind
   * all of these, and leave them room.
   *
   * One is built in each look at most, so that who asks meanwhile waits for one at most.
   */
  private static final System.Logger LOG = System.getLogger(ReadySessions.class.getName());

  /** How much of a device's working memory stays free beside one that is built. */
  private static final double LEAST_FREE = 0.25;

  /** The same beside one of a model that has one in another lane. */
  private static final double LEAST_FREE_BESIDE_OTHERS = 0.5;

  /** A model that was asked for less often than this, by a count that fades, has none. */
  private static final double LEAST_USES = Math.log(0.5);

  /** How long a device is not tried again that could not build a model's session. */
  static final long REST_NANOS = Duration.ofSeconds(30).toNanos();

  private final List<Member> members;
  private final int most;
  private final FreeShare freeShare;
  private final LongSupplier nanoClock;
  private final Map<Member, Stays> stays = new HashMap<>();

  /** Those of the last while. */
  private final List<Failure> failures = new ArrayList<>();

  /**
   * Nothing is built yet.
   *
   * @param most sessions on each device at most that none of its own models has; those of one model
   *     in several lanes count once
   */
  ReadySessions(List<Member> members, int most, FreeShare freeShare, LongSupplier nanoClock) {
    this.members = members;
    this.most = most;
    this.freeShare = freeShare;
    this.nanoClock = nanoClock;
    members.forEach(member -> stays.put(member, new Stays(nanoClock.getAsLong())));
  }

  /**
   * The share of a device's working memory that would be free if so much of it were taken, up to 1.
   */
  @FunctionalInterface
  interface FreeShare {
    double beside(Member member, long bytes);
  }

  /** A device that could not build a model's session. */
  private record Failure(Route route, Member member, long sinceNanos) {}

  /** A device that may build one, and how many stand ready there. */
  private record Builder(Member member, int ready) {}

  /**
   * Looks at all models, and builds one session at most.
   *
   * @param uses how often each is asked for, as {@link SwitcherGroup#uses} has it
   */
  void review(Collection<Route> routes, Map<ModelVersion, Double> uses) {
    long now = nanoClock.getAsLong();
    failures.removeIf(failure -> now - failure.sinceNanos >= REST_NANOS);
    stays.forEach((member, ofIt) -> ofIt.look(stay -> stays(stay, member, routes), now));
    List<Member> willing = members.stream().filter(member -> mayBuild(member, now)).toList();
    if (willing.isEmpty()) {
      return;
    }
    List<Route> asked =
        routes.stream()
            .filter(route -> isAskedFor(route, uses))
            .sorted(Comparator.comparingDouble(route -> -usesOf(route, uses)))
            .toList();
    if (!buildFirst(asked, willing, routes)) {
      buildBesideOthers(asked, willing, routes);
    }
  }

  /** Builds a model's first session on a device that is not its own; false where none is wanted. */
  private boolean buildFirst(List<Route> asked, List<Member> willing, Collection<Route> routes) {
    List<Builder> builders =
        willing.stream()
            .map(member -> new Builder(member, readyOn(member, routes)))
            .filter(builder -> builder.ready < most)
            .toList();
    for (Route route : asked) {
      if (!canMove(route)) {
        Optional<Member> builder = builderFor(route, builders);
        if (builder.isPresent()) {
          build(
              route, builder.get(), member -> member.switcher.standing().buildAhead(route.version));
          return true;
        }
      }
    }
    return false;
  }

  /** Builds one in a lane more for the model that has the fewest, but not none. */
  private void buildBesideOthers(
      List<Route> asked, List<Member> willing, Collection<Route> routes) {
    @Nullable Beside best = null;
    for (Member member : willing) {
      for (Route route : asked) {
        int sessions = member.switcher.standing().count(route.version);
        if ((best == null || sessions < best.sessions)
            && lacksLanes(route, member, sessions, routes)) {
          best = new Beside(route, member, sessions);
        }
      }
    }
    if (best != null) {
      Route route = best.route;
      build(
          route,
          best.member,
          member -> member.switcher.standing().buildInAnotherLane(route.version));
    }
  }

  /** A model that stands ready on a device in some of its lanes. */
  private record Beside(Route route, Member member, int sessions) {}

  private boolean lacksLanes(Route route, Member member, int sessions, Collection<Route> routes) {
    return sessions > 0
        && sessions < member.switcher.standing().most()
        && route.candidates().contains(member.index)
        && !isOwn(member.switcher.standing().of(route.version), member, routes)
        && !hasFailed(route, member)
        && freeShare.beside(member, expectedBytes(route)) >= LEAST_FREE_BESIDE_OTHERS;
  }

  /** Whether one of a device's own models has a session. */
  static boolean isOwn(@Nullable StructureRange session, Member member, Collection<Route> routes) {
    return routes.stream()
        .filter(route -> route.devices().contains(member.index))
        .anyMatch(route -> Objects.equals(session, member.switcher.standing().of(route.version)));
  }

  /** Whether a model is asked for often enough that something should stand ready for it. */
  static boolean isAskedFor(Route route, Map<ModelVersion, Double> uses) {
    return usesOf(route, uses) >= LEAST_USES;
  }

  static double usesOf(Route route, Map<ModelVersion, Double> uses) {
    return uses.getOrDefault(route.version, Double.NEGATIVE_INFINITY);
  }

  /** Whether a session that was built ahead is there, or has gone for no want of memory. */
  private static boolean stays(Stays.Stay stay, Member member, Collection<Route> routes) {
    return member.switcher.standing().count(stay.route().version) >= stay.sessions()
        || !member.isUsable()
        || !routes.contains(stay.route());
  }

  private boolean mayBuild(Member member, long now) {
    return member.isUsable()
        && !member.backlog.isOnline()
        && staysOn(member).mayBuild(now)
        && freeShare.beside(member, 0) > LEAST_FREE;
  }

  private Stays staysOn(Member member) {
    return Objects.requireNonNull(stays.get(member));
  }

  /** Sessions that no model of the device's own has. */
  private static int readyOn(Member member, Collection<Route> routes) {
    Set<StructureRange> own = new HashSet<>();
    Set<StructureRange> ready = new HashSet<>();
    for (Route route : routes) {
      @Nullable StructureRange session = member.switcher.standing().of(route.version);
      if (session != null) {
        (route.devices().contains(member.index) ? own : ready).add(session);
      }
    }
    ready.removeAll(own);
    return ready.size();
  }

  /** Whether the loss of one device leaves the model another of its own, or one with a session. */
  private boolean canMove(Route route) {
    List<Member> usable =
        route.candidates().stream().map(members::get).filter(Member::isUsable).toList();
    return usable.stream().filter(member -> route.devices().contains(member.index)).count() > 1
        || usable.stream()
            .anyMatch(
                member ->
                    !route.devices().contains(member.index)
                        && member.switcher.standing().has(route.version));
  }

  /** The one with the fewest that stand ready, of those that may have the model one day. */
  private Optional<Member> builderFor(Route route, List<Builder> builders) {
    long bytes = expectedBytes(route);
    return builders.stream()
        .filter(builder -> route.candidates().contains(builder.member.index))
        .filter(builder -> !route.devices().contains(builder.member.index))
        .filter(builder -> !hasFailed(route, builder.member))
        .filter(builder -> freeShare.beside(builder.member, bytes) >= LEAST_FREE)
        .min(Comparator.comparingInt(Builder::ready))
        .map(Builder::member);
  }

  /** A bound of what its session takes, or what it took where it was built if that was more. */
  private long expectedBytes(Route route) {
    return route.registered.stream()
        .map(members::get)
        .filter(Member::isUsable)
        .mapToLong(member -> member.switcher.standing().bytes(route.version))
        .max()
        .orElse(0);
  }

  private boolean hasFailed(Route route, Member member) {
    return failures.stream()
        .anyMatch(failure -> failure.route.equals(route) && failure.member.equals(member));
  }

  private void build(Route route, Member member, Predicate<Member> way) {
    boolean isThere = false;
    try {
      isThere = way.test(member);
    } catch (RuntimeException e) { // It may have been taken out meanwhile, or the device lost.
      LOG.log(
          Level.DEBUG, "{0} is not ready on {1}: {2}", route.version, member.name, e.getMessage());
    }
    if (isThere) {
      int sessions = member.switcher.standing().count(route.version);
      staysOn(member).built(route, sessions, nanoClock.getAsLong());
    } else {
      failures.add(new Failure(route, member, nanoClock.getAsLong()));
    }
  }
}
