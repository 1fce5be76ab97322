package io.pipelane.switcher.placement;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.config.section.PlacementConfig.Routing;
import io.pipelane.modelstore.repository.ModelOptions.Priority;
import io.pipelane.switcher.InferenceRequest;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.LongSupplier;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/** The choice of the device that answers a request. Safe for any thread, and at once. */
final class Router {
  /*
   * The predicted time of a request's answer is the sum of its wait for a lane, its stall as the
   * weights lie now, and its run. Runs take the same everywhere, since the devices are of one kind,
   * so what one of them knows of a run counts for all.
   *
   * A request that names its device goes there, and its model's weights with it, as long as that
   * device is not lost: somebody has weighed that who knows more than what is asked now. Where its
   * inputs lie on the device no other can run it.
   *
   * Where a model has been made ready it has its session. Where it moves to when its devices are
   * lost it may have none; building it counts there.
   *
   * A device may refuse a model which has cost it its workers. It gets no request for that model
   * while another device takes them; otherwise it would be chosen for having nothing to do.
   *
   * A device may be too small for offline work to hold a model there, whatever ends. The model's
   * offline requests go to the soonest of those that are not, if there are any; its devices stay.
   *
   * Of requests for one model that is on its way, the first alone adds its stall to what the device
   * has to do: one transfer serves them all.
   */
  private final List<Member> members;
  private final Routing routing;
  private final boolean keepsForms;
  private final Predicate<String> lettingGo;
  private final LongSupplier nanoClock;
  private final AtomicInteger turn = new AtomicInteger();

  /**
   * Has counted nothing yet.
   *
   * @param keepsForms whether somebody wants to know what requests look like
   * @param lettingGo lets a model have other devices if the one that it was confined to is lost;
   *     whether it does
   */
  Router(
      List<Member> members,
      Routing routing,
      boolean keepsForms,
      Predicate<String> lettingGo,
      LongSupplier nanoClock) {
    this.members = members;
    this.routing = routing;
    this.keepsForms = keepsForms;
    this.lettingGo = lettingGo;
    this.nanoClock = nanoClock;
  }

  /**
   * A device for a request.
   *
   * @param expectedNanos what the request adds to what the device has to do
   */
  record Choice(Member member, long expectedNanos) {}

  /**
   * Chooses.
   *
   * @throws StatusException {@link Status#DEVICE_FAILURE} when every device is lost that knows the
   *     model, or the one that has the request's inputs
   */
  Choice choose(Route route, InferenceRequest request) {
    long execution = executionNanos(route, request);
    @Nullable Member chosen = request.place().device().map(name -> named(route, name)).orElse(null);
    if (chosen == null && request.isOnDevice()) {
      throw new StatusException(
          Status.DEVICE_FAILURE,
          "device %s is lost, and inputs for model %s with it"
              .formatted(request.place().device().orElse("(unnamed)"), route.version));
    }
    Member member = chosen == null ? unnamed(route, request.priority()) : chosen;
    long stall = route.underWay(member.index) == 0 ? stallNanos(route, member) : 0;
    return new Choice(member, stall + execution);
  }

  /**
   * Counts a request, once, for the device that it goes to first, and keeps what it looks like
   * where that is wanted.
   */
  void count(Route route, InferenceRequest request, Member first) {
    if (request.priority() == Priority.ONLINE) {
      route.asked(first.index, nanoClock.getAsLong());
      if (keepsForms) {
        route.askedAs(request);
      }
    }
  }

  private @Nullable Member named(Route route, String device) {
    for (int index : route.candidates()) {
      Member member = members.get(index);
      if (member.name.equals(device) && member.isUsable()) {
        return member;
      }
    }
    return null;
  }

  private Member unnamed(Route route, Priority priority) {
    @Nullable Member own = ownOf(route, priority);
    Member member = own == null ? instead(route, priority) : own;
    boolean mayBeTooSmall = priority == Priority.OFFLINE && !route.keepsState;
    return mayBeTooSmall ? largeEnough(route, member) : member;
  }

  private @Nullable Member ownOf(Route route, Priority priority) {
    return route.keepsState
        ? first(route.devices())
        : switch (routing) {
          case STATIC -> first(route.devices());
          case ROUND_ROBIN -> inTurn(route);
          case PREDICTED -> soonest(route, priority);
        };
  }

  /**
   * A device that offline work may hold the model on; the one that is meant if that may or none.
   */
  private Member largeEnough(Route route, Member meant) {
    if (fitsOffline(route, meant)) {
      return meant;
    }
    List<Integer> large =
        route.candidates().stream()
            .filter(device -> fitsOffline(route, members.get(device)))
            .toList();
    @Nullable Member best = soonestInstead(route, willing(route, large), Priority.OFFLINE);
    return best == null ? meant : best;
  }

  private static boolean fitsOffline(Route route, Member member) {
    return member.isUsable() && member.switcher.appraisal().fitsOffline(route.version);
  }

  private long executionNanos(Route route, InferenceRequest request) {
    for (int device : route.devices()) {
      long nanos = members.get(device).switcher.executionNanos(request);
      if (nanos > 0) {
        return nanos;
      }
    }
    return 0;
  }

  private static long stallNanos(Route route, Member member) {
    return member.switcher.appraisal().stallNanos(route.version);
  }

  /** From a request's coming to the beginning of its run. */
  private static long beforeRunNanos(Route route, Member member, Priority priority) {
    return member.backlog.waitNanos(priority) + stallNanos(route, member);
  }

  /** As long as the model's session takes to build where it has none; known from where it had. */
  private long buildingNanos(Route route, Member member) {
    return member.switcher.standing().has(route.version)
        ? 0
        : route.registered.stream()
            .mapToLong(device -> members.get(device).switcher.standing().buildNanos(route.version))
            .max()
            .orElse(0);
  }

  private @Nullable Member first(List<Integer> devices) {
    for (int device : devices) {
      if (members.get(device).isUsable()) {
        return members.get(device);
      }
    }
    return null;
  }

  private @Nullable Member inTurn(Route route) {
    List<Member> willing = willing(route, route.candidates());
    return willing.isEmpty()
        ? null
        : willing.get(Math.floorMod(turn.getAndIncrement(), willing.size()));
  }

  private List<Member> usable(List<Integer> devices) {
    return devices.stream().map(members::get).filter(Member::isUsable).toList();
  }

  /** The devices of some that are there, without those that refuse the model if not all do. */
  private List<Member> willing(Route route, List<Integer> devices) {
    List<Member> usable = usable(devices);
    List<Member> willing =
        usable.stream()
            .filter(member -> member.switcher.quarantine(route.version).isEmpty())
            .toList();
    return willing.isEmpty() ? usable : willing;
  }

  /**
   * The soonest of the devices of a model, whose runs take the same on all; null when all are lost.
   */
  private @Nullable Member soonest(Route route, Priority priority) {
    @Nullable Member best = null;
    long least = Long.MAX_VALUE;
    long second = Long.MAX_VALUE;
    for (Member member : willing(route, route.devices())) {
      long nanos = beforeRunNanos(route, member, priority);
      if (nanos < least) {
        second = least;
        least = nanos;
        best = member;
      } else {
        second = Math.min(second, nanos);
      }
    }
    if (best != null && priority == Priority.ONLINE) {
      note(route, best, least, second);
    }
    return best;
  }

  /** What a device saves that the model has, and what others would save. */
  private void note(Route route, Member best, long leastNanos, long secondNanos) {
    long now = nanoClock.getAsLong();
    if (secondNanos != Long.MAX_VALUE && secondNanos > leastNanos) {
      route.saved(best.index, secondNanos - leastNanos, now);
    }
    if (leastNanos > 0) {
      for (int device : route.candidates()) {
        long waits = members.get(device).backlog.waitNanos(Priority.ONLINE);
        if (waits < leastNanos && !route.devices().contains(device)) {
          route.couldSave(device, leastNanos - waits, now);
        }
      }
    }
  }

  /** The soonest of those that know the model; it is the model's from now on. */
  private Member instead(Route route, Priority priority) {
    List<Integer> lost = route.devices();
    @Nullable Member best = soonestInstead(route, usable(route.candidates()), priority);
    if (best == null && lettingGo.test(route.version.model())) {
      best = soonestInstead(route, usable(route.candidates()), priority);
    }
    if (best == null) {
      throw new StatusException(
          Status.DEVICE_FAILURE,
          "every device that has model " + route.version + " is lost; restart the server");
    }
    route.moveTo(best.index, lost, nanoClock.getAsLong());
    return best;
  }

  /** The soonest of some devices that are there, though it may have no session; null of none. */
  private @Nullable Member soonestInstead(Route route, List<Member> from, Priority priority) {
    @Nullable Member best = null;
    long least = Long.MAX_VALUE;
    for (Member member : from) {
      long nanos = buildingNanos(route, member) + beforeRunNanos(route, member, priority);
      if (best == null || nanos < least) {
        least = nanos;
        best = member;
      }
    }
    return best;
  }
}
