package io.pipelane.switcher.placement;

import io.pipelane.switcher.placement.ReplicaRule.Change;
import java.lang.System.Logger.Level;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.List;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * Gives models devices, and takes them away, as {@link ReplicaRule} says. Not safe for several
 * threads; blocks while a model is made ready on a device.
 */
final class Replicas {
  /*
   * A device becomes one of a model's once it has the model's session and weights, so no request
   * waits for that. One that is taken away gets no more requests, then loses the weights: what was
   * counted there would keep them for minutes.
   *
   * All models of a crowded device see the same idle one. So one at a time gets it, the one that
   * gains most; for a half-life the device takes no other, until what is left to gain is known.
   */
  private static final System.Logger LOG = System.getLogger(Replicas.class.getName());

  private final List<Member> members;
  private final Duration halfLife;
  private final ReplicaRule rule;
  private final LongSupplier nanoClock;

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

  /** Looks at all models: takes away what is not needed, then gives one a device at most. */
  void review(Collection<Route> routes) {
    @Nullable Wish best = null;
    for (Route route : routes) {
      if (!route.keepsState) {
        long now = nanoClock.getAsLong();
        switch (rule.decide(candidates(route, now), route.settledNanos(now))) {
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
      int device = best.change.device();
      open(best.route, members.get(device));
      openedNanos[device] = nanoClock.getAsLong();
    }
  }

  private boolean isSettled(int device, long now) {
    return now - openedNanos[device] >= halfLife.toNanos();
  }

  private List<Device> candidates(Route route, long now) {
    List<Device> candidates = new ArrayList<>();
    for (int device : route.devices()) {
      candidates.add(new Device(route, members.get(device), true, now));
    }
    for (int device : route.candidates()) {
      if (!route.devices().contains(device)) {
        candidates.add(new Device(route, members.get(device), false, now));
      }
    }
    return candidates;
  }

  /** A device as it concerns a model, now. */
  private final class Device implements ReplicaRule.Candidate {
    private final Route route;
    private final Member member;
    private final boolean has;
    private final long now;

    Device(Route route, Member member, boolean has, long now) {
      this.route = route;
      this.member = member;
      this.has = has;
      this.now = now;
    }

    @Override
    public int index() {
      return member.index;
    }

    @Override
    public boolean isUsable() {
      return member.isUsable();
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
      double transfers = member.switcher.stallNanos(route.version) * 1e9 / halfLife.toNanos();
      return member.switcher.displacedNanosPerSecond(route.version) + transfers;
    }
  }

  private void open(Route route, Member member) {
    try {
      member.switcher.makeReady(route.version);
    } catch (RuntimeException e) { // It may have been taken out meanwhile, or the device lost.
      LOG.log(Level.DEBUG, "{0} is not on {1}: {2}", route.version, member.name, e.getMessage());
      route.rest(nanoClock.getAsLong());
      return;
    }
    route.open(member.index, nanoClock.getAsLong());
    LOG.log(Level.DEBUG, "{0} is on {1}, too", route.version, member.name);
  }

  private void close(Route route, Member member) {
    route.close(member.index, nanoClock.getAsLong());
    LOG.log(Level.DEBUG, "{0} is no longer on {1}", route.version, member.name);
    try {
      member.switcher.takeOut(List.of(route.version)); // A job's run there may take long.
    } catch (RuntimeException e) {
      LOG.log(Level.DEBUG, "{0} has left {1}: {2}", route.version, member.name, e.getMessage());
    }
  }
}
