package io.pipelane.switcher.placement;

import io.pipelane.modelstore.ModelVersion;
import io.pipelane.modelstore.repository.ModelOptions.Priority;
import io.pipelane.switcher.placement.ReplicaRule.Change;
import java.lang.System.Logger.Level;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * The devices that models are given and lose again, as {@link ReplicaRule} says. Not safe for
 * several threads; blocks while a model is made ready on a device.
 */
final class Replicas {
  /*
   * A device becomes one of a model's once it has the model's session and weights, so no request
   * waits for that. If the session had to leave while the weights came, it is built again in memory
   * that is free, or the device is left alone.
   *
   * Nobody waits for the weights. So they come page by page behind all that runs wait for, and come
   * again where they had to give way before all were there. Where a device brings nothing in ahead
   * of requests, they come as if a run waited, and once. What is not there within a minute is left,
   * and so is what the model may not have there any more.
   *
   * A device that is taken away gets no more requests. Once those that it had have ended it loses
   * the weights: what was counted there would keep them for minutes. Nobody waits for a page that
   * is on its way, as a read may hang: it leaves when it has come.
   *
   * The demand for what would give way is counted as the waiting is, from the same time on with the
   * same half-life. The residency policy's own count takes minutes to tell a rate, in which all
   * memory would look cheap.
   *
   * The rule's price is of pages. So that no session of another model has to leave for one here, a
   * device without room for one more is left alone.
   *
   * All models of a crowded device see the same idle one. So one at a time gets it, the one that
   * gains most. For a half-life the device takes no other, until what is left to gain is known.
   * What others would gain is counted anew from then on: for those that are left on the crowded
   * device the gain by any device, for those elsewhere the gain by the one that is idle no more.
   */
  private static final System.Logger LOG = System.getLogger(Replicas.class.getName());

  private static final long LONGEST_COMING = Duration.ofMinutes(1).toNanos();

  private final List<Member> members;
  private final Duration halfLife;
  private final ReplicaRule rule;
  private final LongSupplier nanoClock;

  private final List<Coming> coming = new ArrayList<>();
  private final List<Leaving> leaving = new ArrayList<>();

  /** Those of the last half-life. */
  private final List<Refusal> refused = new ArrayList<>();

  /** When devices were given a model. */
  private final long[] openedNanos;

  Replicas(List<Member> members, Duration halfLife, LongSupplier nanoClock) {
    this.members = members;
    this.halfLife = halfLife;
    this.rule = new ReplicaRule(halfLife.toNanos());
    this.nanoClock = nanoClock;
    this.openedNanos = new long[members.size()];
    Arrays.fill(openedNanos, nanoClock.getAsLong() - halfLife.toNanos());
  }

  /** A model that would gain most by one device more. */
  private record Wish(Route route, Change.Open change) {}

  /** A device that had no room for a model's session, or did not get its weights in time. */
  private record Refusal(Route route, int device, long sinceNanos) {}

  /** A device that a model will have once its weights are there. */
  private record Coming(Route route, Member member, long sinceNanos) {}

  /** A device that a model has no more, and may have weights of it. */
  private record Leaving(Route route, Member member) {}

  /** Looks at all models: takes away what is not needed, then gives one a device at most. */
  void review(Map<ModelVersion, Route> routes) {
    leaving.removeIf(Replicas::hasLeft);
    coming.removeIf(each -> hasCome(each, routes));
    refused.removeIf(refusal -> isOver(refusal, nanoClock.getAsLong()));
    @Nullable Wish best = null;
    for (Route route : routes.values()) {
      if (!route.keepsState && coming.stream().noneMatch(each -> each.route.equals(route))) {
        long now = nanoClock.getAsLong();
        switch (rule.decide(candidates(route, routes, now), route.settledNanos(now))) {
          case Change.None _ -> {}
          case Change.Open open -> {
            if (isSettled(open.device(), now)
                && (best == null || open.gain() > best.change.gain())) {
              best = new Wish(route, open);
            }
          }
          case Change.Close(int device) -> close(route, members.get(device));
        }
      }
    }
    if (best != null) {
      bring(best.route, members.get(best.change.device()), routes);
    }
  }

  private void countAnew(Collection<Route> routes, List<Integer> relieved, int device) {
    long now = nanoClock.getAsLong();
    for (Route route : routes) {
      boolean isRelieved = route.devices().stream().anyMatch(relieved::contains);
      for (Member member : members) {
        if (isRelieved || member.index == device) {
          route.countAnew(member.index, now);
        }
      }
    }
  }

  private boolean isSettled(int device, long now) {
    return now - openedNanos[device] >= halfLife.toNanos()
        && coming.stream().noneMatch(each -> each.member.index == device);
  }

  private List<Device> candidates(Route route, Map<ModelVersion, Route> routes, long now) {
    List<Device> candidates = new ArrayList<>();
    for (int device : route.devices()) {
      candidates.add(new Device(route, members.get(device), true, routes, now));
    }
    for (int device : route.candidates()) {
      if (!route.devices().contains(device)) {
        candidates.add(new Device(route, members.get(device), false, routes, now));
      }
    }
    return candidates;
  }

  /** A device as it concerns a model, now. */
  private final class Device implements ReplicaRule.Candidate {
    private final Route route;
    private final Member member;
    private final boolean has;
    private final Map<ModelVersion, Route> routes;
    private final long now;

    Device(Route route, Member member, boolean has, Map<ModelVersion, Route> routes, long now) {
      this.route = route;
      this.member = member;
      this.has = has;
      this.routes = routes;
      this.now = now;
    }

    @Override
    public int index() {
      return member.index;
    }

    @Override
    public boolean isUsable() {
      return member.isUsable() && (has || !isRefused(route, member));
    }

    @Override
    public boolean has() {
      return has;
    }

    @Override
    public double couldSave() {
      return route.couldSave(member.index, now);
    }

    @Override
    public double saves() {
      return route.saves(member.index, now);
    }

    /** Those that give way, and the transfer, which is paid once in a half-life. */
    @Override
    public double price() {
      double transfers =
          member.switcher.appraisal().stallNanos(route.version) * 1e9 / halfLife.toNanos();
      return transfers
          + member
              .switcher
              .appraisal()
              .displacedNanosPerSecond(route.version, this::askedPerSecond);
    }

    private double askedPerSecond(ModelVersion version) {
      @Nullable Route asked = routes.get(version);
      return asked == null ? 0 : asked.askedPerSecond(member.index, now);
    }
  }

  /** Has a device get what it needs for a model, if it can have that. */
  private void bring(Route route, Member member, Map<ModelVersion, Route> routes) {
    if (!isOnItsWay(route, member)) {
      refused.add(new Refusal(route, member.index, nanoClock.getAsLong()));
      return;
    }
    leaving.remove(new Leaving(route, member));
    Coming begun = new Coming(route, member, nanoClock.getAsLong());
    if (!hasCome(begun, routes)) {
      coming.add(begun);
    }
  }

  private static boolean isOnItsWay(Route route, Member member) {
    try {
      if (!member.switcher.standing().buildAhead(route.version)) {
        return false;
      }
      if (member.switcher.bringsInAhead()) {
        member.switcher.wish(route.version, Optional.empty(), Priority.ONLINE);
      } else {
        member.switcher.makeReady(route.version);
      }
      return true;
    } catch (RuntimeException e) { // It may have been taken out meanwhile, or the device lost.
      LOG.log(Level.DEBUG, "{0} is not on {1}: {2}", route.version, member.name, e.getMessage());
      return false;
    }
  }

  /** Whether nothing is waited for any more; the model has the device if all is there. */
  private boolean hasCome(Coming each, Map<ModelVersion, Route> routes) {
    Route route = each.route;
    Member member = each.member;
    long now = nanoClock.getAsLong();
    if (!member.isUsable()
        || routes.get(route.version) != route
        || route.devices().contains(member.index)) {
      return true;
    }
    if (!route.candidates().contains(member.index)) {
      leaving.add(new Leaving(route, member)); // It belongs to a model over several devices now.
      return true;
    }
    if (member.switcher.appraisal().isComplete(route.version)) {
      if (hasSession(route, member) && open(route, member, routes.values())) {
        return true;
      }
    } else if (now - each.sinceNanos < LONGEST_COMING && isStillComing(route, member)) {
      return false;
    }
    refused.add(new Refusal(route, member.index, now));
    leaving.add(new Leaving(route, member));
    return true;
  }

  /** Whether what is missing comes ahead of requests, though other work may have taken it again. */
  private static boolean isStillComing(Route route, Member member) {
    try {
      member.switcher.keepWishing(route.version);
      return member.switcher.bringsInAhead();
    } catch (RuntimeException e) { // It may have been taken out meanwhile.
      LOG.log(Level.DEBUG, "{0} is not on {1}: {2}", route.version, member.name, e.getMessage());
      return false;
    }
  }

  /**
   * Whether a model's session is there, built again if need be where nobody has to leave for it.
   */
  private static boolean hasSession(Route route, Member member) {
    try {
      return member.switcher.standing().has(route.version)
          || (member.switcher.standing().buildAhead(route.version)
              && member.switcher.standing().has(route.version));
    } catch (RuntimeException e) { // It may have been taken out meanwhile, or the device lost.
      LOG.log(Level.DEBUG, "{0} is not on {1}: {2}", route.version, member.name, e.getMessage());
      return false;
    }
  }

  private boolean open(Route route, Member member, Collection<Route> routes) {
    List<Integer> relieved = route.devices();
    long now = nanoClock.getAsLong();
    if (!route.open(member.index, now)) {
      return false; // Where it may be has been said anew meanwhile.
    }
    openedNanos[member.index] = now;
    countAnew(routes, relieved, member.index);
    LOG.log(Level.DEBUG, "{0} is on {1}, too", route.version, member.name);
    return true;
  }

  private boolean isRefused(Route route, Member member) {
    return refused.stream()
        .anyMatch(refusal -> refusal.route.equals(route) && refusal.device == member.index);
  }

  private boolean isOver(Refusal refusal, long now) {
    return now - refusal.sinceNanos >= halfLife.toNanos();
  }

  private void close(Route route, Member member) {
    route.close(member.index, nanoClock.getAsLong());
    LOG.log(Level.DEBUG, "{0} is no longer on {1}", route.version, member.name);
    leaving.add(new Leaving(route, member));
  }

  private static boolean hasLeft(Leaving left) {
    Member member = left.member;
    if (left.route.devices().contains(member.index)) {
      return true; // It was given back meanwhile.
    }
    if (left.route.underWay(member.index) > 0) {
      return false;
    }
    try {
      member.switcher.evictOnceIdle(left.route.version);
    } catch (RuntimeException e) {
      LOG.log(Level.DEBUG, "{0} left {1}: {2}", left.route.version, member.name, e.getMessage());
    }
    return true;
  }
}
