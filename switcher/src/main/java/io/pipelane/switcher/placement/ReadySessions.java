package io.pipelane.switcher.placement;

import io.pipelane.modelstore.ModelVersion;
import java.lang.System.Logger.Level;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.LongSupplier;
import java.util.function.ToDoubleFunction;

/**
 * Has the sessions of models that are asked for stand ready on a device that is not theirs, so that
 * it can take them over without building any. Not safe for several threads; blocks while one is
 * built.
 */
final class ReadySessions {
  /*
   * A session alone is there, no weights: those come when the model is asked for. It lies in working
   * memory, of which a quarter has to be free before, and gives way like any other that is idle. So
   * nothing is remembered here of what was built: what is there is counted anew each time.
   *
   * One is built in each look at most, so that who asks meanwhile waits for one at most.
   */
  private static final System.Logger LOG = System.getLogger(ReadySessions.class.getName());

  /** How much of a device's working memory has to be free before one is built. */
  private static final double LEAST_FREE = 0.25;

  /** A model that was asked for less often than this, by a count that fades, has none. */
  private static final double LEAST_USES = Math.log(0.5);

  /** How long a device is not tried again that could not build a model's session. */
  private static final long REST_NANOS = Duration.ofSeconds(30).toNanos();

  private final List<Member> members;
  private final int most;
  private final ToDoubleFunction<Member> freeShare;
  private final LongSupplier nanoClock;

  /** Those of the last while. */
  private final List<Failure> failures = new ArrayList<>();

  /**
   * Nothing is built yet.
   *
   * @param most models on each device at most that are not its own
   * @param freeShare how much of a device's working memory is free, from 0 to 1
   */
  ReadySessions(
      List<Member> members, int most, ToDoubleFunction<Member> freeShare, LongSupplier nanoClock) {
    this.members = members;
    this.most = most;
    this.freeShare = freeShare;
    this.nanoClock = nanoClock;
  }

  /** A device that could not build a model's session. */
  private record Failure(Route route, Member member, long sinceNanos) {}

  /**
   * Looks at all models, and builds one session at most.
   *
   * @param uses how often each is asked for, as {@link SwitcherGroup#uses} has it
   */
  void review(Collection<Route> routes, Map<ModelVersion, Double> uses) {
    long now = nanoClock.getAsLong();
    failures.removeIf(failure -> now - failure.sinceNanos >= REST_NANOS);
    List<Member> builders = members.stream().filter(member -> mayBuild(member, routes)).toList();
    if (builders.isEmpty()) {
      return;
    }
    List<Route> wanting =
        routes.stream()
            .filter(route -> usesOf(route, uses) >= LEAST_USES && !canMove(route))
            .sorted(Comparator.comparingDouble(route -> -usesOf(route, uses)))
            .toList();
    for (Route route : wanting) {
      Optional<Member> builder = builderFor(route, builders, routes);
      if (builder.isPresent()) {
        build(route, builder.get());
        return;
      }
    }
  }

  private static double usesOf(Route route, Map<ModelVersion, Double> uses) {
    return uses.getOrDefault(route.version, Double.NEGATIVE_INFINITY);
  }

  private boolean mayBuild(Member member, Collection<Route> routes) {
    return member.isUsable()
        && !member.backlog.isOnline()
        && freeShare.applyAsDouble(member) > LEAST_FREE
        && readyOn(member, routes) < most;
  }

  private static long readyOn(Member member, Collection<Route> routes) {
    return routes.stream().filter(route -> isReady(route, member)).count();
  }

  /** Whether a model that is not the device's has its session there. */
  private static boolean isReady(Route route, Member member) {
    return !route.devices().contains(member.index) && member.switcher.hasSession(route.version);
  }

  /** Whether the loss of one device leaves the model another of its own, or one with a session. */
  private boolean canMove(Route route) {
    List<Member> usable =
        route.candidates().stream().map(members::get).filter(Member::isUsable).toList();
    return usable.stream().filter(member -> route.devices().contains(member.index)).count() > 1
        || usable.stream().anyMatch(member -> isReady(route, member));
  }

  /** The one with the fewest that stand ready, of those that may have the model one day. */
  private Optional<Member> builderFor(
      Route route, List<Member> builders, Collection<Route> routes) {
    return builders.stream()
        .filter(member -> route.candidates().contains(member.index))
        .filter(member -> !route.devices().contains(member.index) && !hasFailed(route, member))
        .min(Comparator.comparingLong(member -> readyOn(member, routes)));
  }

  private boolean hasFailed(Route route, Member member) {
    return failures.stream()
        .anyMatch(failure -> failure.route.equals(route) && failure.member.equals(member));
  }

  private void build(Route route, Member member) {
    boolean isThere = false;
    try {
      isThere = member.switcher.buildAhead(route.version);
    } catch (RuntimeException e) { // It may have been taken out meanwhile, or the device lost.
      LOG.log(
          Level.DEBUG, "{0} is not ready on {1}: {2}", route.version, member.name, e.getMessage());
    }
    if (!isThere) {
      failures.add(new Failure(route, member, nanoClock.getAsLong()));
    }
  }
}
