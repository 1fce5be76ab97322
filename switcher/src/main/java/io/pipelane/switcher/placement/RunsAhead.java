package io.pipelane.switcher.placement;

import io.pipelane.config.StatusException;
import io.pipelane.lanes.execution.WorkerLostException;
import io.pipelane.modelstore.ModelVersion;
import io.pipelane.runtime.Shape;
import io.pipelane.runtime.TensorType;
import io.pipelane.switcher.InferenceRequest;
import io.pipelane.switcher.InferenceService.Hold;
import io.pipelane.switcher.InferenceService.Ticket;
import io.pipelane.switcher.InferenceTimings;
import io.pipelane.switcher.ResultHandler;
import io.pipelane.switcher.memory.StructureRange;
import java.lang.System.Logger.Level;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.Collection;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.function.Function;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * Has models run where their sessions stand ready, so that what a first run loads, tries out and
 * captures is there when the device takes over. Not safe for several threads; waits for nothing.
 */
final class RunsAhead {
  /*
   * They are offline requests on made-up numbers, in the form in which the model was asked for last:
   * they give way to what is asked for, have the weights come in behind those that are, and are no
   * uses, so session and weights go before all that somebody has asked for. On each device one run
   * is under way at a time, and the next begins in a later look: a capture is made behind its run's
   * answer, and a run beside it would have another lane build a session.
   *
   * What a model's inputs must be like, nobody knows here. One that refuses what was made up is left
   * until it is asked for in another form, one that costs a worker process for good.
   */
  private static final System.Logger LOG = System.getLogger(RunsAhead.class.getName());

  /**
   * One that loads and tries out, and one that is captured. No more: two captures that fail in a
   * row would be the session's last.
   */
  static final int RUNS = 2;

  /** How long those of one model may take, and others wait for them. */
  static final long LONGEST_NANOS = Duration.ofSeconds(10).toNanos();

  /** How long a model is let alone for which there was no time. */
  static final long REST_NANOS = Duration.ofSeconds(30).toNanos();

  private final List<Member> members;
  private final Function<Member, Hold> devices;
  private final LongSupplier nanoClock;
  private final Map<Place, Tried> tried = new HashMap<>();
  private final Map<Member, Attempt> current = new HashMap<>();

  /**
   * Nothing has run yet.
   *
   * @param devices what takes a request there
   */
  RunsAhead(List<Member> members, Function<Member, Hold> devices, LongSupplier nanoClock) {
    this.members = members;
    this.devices = devices;
    this.nanoClock = nanoClock;
  }

  /** A session on a device, whichever of the models that share it. */
  private record Place(Member member, StructureRange session) {}

  private enum End {
    DONE,
    LATER,
    REFUSED,
    HARMFUL
  }

  /** What became of a session's first runs. */
  private record Tried(Route route, Place place, AskedForm form, End end, long sinceNanos) {
    boolean isOver(Collection<Route> routes) {
      boolean isGone = !place.session.equals(place.member.switcher.session(route.version));
      return !routes.contains(route)
          || switch (end) {
            case DONE -> isGone;
            case REFUSED -> isGone || !route.form().equals(Optional.of(form));
            case LATER, HARMFUL -> false;
          };
    }

    boolean rests(long nowNanos) {
      return end != End.LATER || nowNanos - sinceNanos < REST_NANOS;
    }
  }

  /** Runs of a model on a device, one of which may be under way. */
  private final class Attempt {
    final Route route;
    final Place place;
    final AskedForm form;
    final long sinceNanos = nanoClock.getAsLong();
    private int begun;
    private Answer answer = new Answer();
    private Ticket ticket = Ticket.ENDED;

    Attempt(Route route, Place place, AskedForm form) {
      this.route = route;
      this.place = place;
      this.form = form;
    }

    /** Begins a run, or says how all of them have ended. */
    @Nullable End goOn() {
      boolean isLate = nanoClock.getAsLong() - sinceNanos >= LONGEST_NANOS;
      if (begun > 0 && !answer.end.isDone()) {
        return isLate ? givenUp() : null;
      }
      if (begun > 0 && answer.end.isCompletedExceptionally()) {
        return endOf(answer.failure());
      }
      if (begun == RUNS) {
        return End.DONE;
      }
      if (isLate || !place.session.equals(place.member.switcher.session(route.version))) {
        return End.LATER;
      }
      return place.member.backlog.requests() == 0 ? begin() : null;
    }

    private End givenUp() {
      ticket.cancel();
      return End.LATER;
    }

    private @Nullable End begin() {
      Arena arena = Arena.ofAuto(); // A run that is cancelled may read its inputs for a while.
      Optional<InferenceRequest> request = form.madeUp(route.version, arena);
      if (request.isEmpty()) {
        return End.REFUSED;
      }
      begun++;
      answer = new Answer();
      try {
        ticket = devices.apply(place.member).submit(request.get(), answer);
        return null;
      } catch (RuntimeException e) { // It may have been taken out meanwhile.
        return endOf(e);
      }
    }

    private End endOf(Throwable failure) {
      LOG.log(
          Level.DEBUG,
          "{0} has not run ahead on {1}: {2}",
          route.version,
          place.member.name,
          failure.getMessage());
      if (place.member.switcher.quarantine(route.version).isPresent()) {
        place.member.switcher.trust(route.version); // It was not before, and nobody has asked.
        return End.HARMFUL;
      }
      if (failure.getCause() instanceof WorkerLostException lost && isToBlame(lost)) {
        return End.HARMFUL;
      }
      return failure instanceof StatusException known
          ? switch (known.status()) {
            case UNAVAILABLE, INSUFFICIENT_MEMORY, NOT_FOUND, CANCELLED, DEADLINE_EXCEEDED ->
                End.LATER;
            default -> End.REFUSED;
          }
          : End.REFUSED;
    }
  }

  private static boolean isToBlame(WorkerLostException lost) {
    return switch (lost.blame()) {
      case NAMED, ALONE -> true;
      case OTHERS, UNKNOWN -> false;
    };
  }

  /**
   * Looks how runs get on, and begins others.
   *
   * @param uses how often each model is asked for, as {@link SwitcherGroup#uses} has it
   */
  void review(Collection<Route> routes, Map<ModelVersion, Double> uses) {
    tried.values().removeIf(each -> each.isOver(routes));
    for (Member member : members) {
      @Nullable Attempt attempt = current.get(member);
      if (attempt == null && member.isUsable() && member.backlog.requests() == 0) {
        attempt = next(member, routes, uses).orElse(null);
      }
      if (attempt != null) {
        goOn(member, attempt);
      }
    }
  }

  private void goOn(Member member, Attempt attempt) {
    @Nullable End end = attempt.goOn();
    if (end == null) {
      current.put(member, attempt);
    } else {
      current.remove(member);
      forgetUses(attempt);
      tried.put(
          attempt.place,
          new Tried(attempt.route, attempt.place, attempt.form, end, nanoClock.getAsLong()));
    }
  }

  private static void forgetUses(Attempt attempt) {
    if (!attempt.route.devices().contains(attempt.place.member.index)) {
      try {
        attempt.place.member.switcher.forgetAllUses(attempt.route.version);
      } catch (StatusException e) { // It has been taken out meanwhile.
        LOG.log(Level.DEBUG, "{0} is gone: {1}", attempt.route.version, e.getMessage());
      }
    }
  }

  /** Those that were never tried first, of those the one that is asked for most. */
  private Optional<Attempt> next(
      Member member, Collection<Route> routes, Map<ModelVersion, Double> uses) {
    return routes.stream()
        .filter(route -> !route.keepsState && ReadySessions.isAskedFor(route, uses))
        .filter(route -> route.candidates().contains(member.index))
        .filter(route -> !route.devices().contains(member.index))
        .sorted(Comparator.comparingDouble(route -> -ReadySessions.usesOf(route, uses)))
        .flatMap(route -> wanted(route, member, routes).stream())
        .min(Comparator.comparing(attempt -> tried.containsKey(attempt.place)));
  }

  private Optional<Attempt> wanted(Route route, Member member, Collection<Route> routes) {
    return member.switcher.quarantine(route.version).isPresent()
        ? Optional.empty()
        : route
            .form()
            .flatMap(
                form -> place(route, member, routes).map(place -> new Attempt(route, place, form)));
  }

  /** Where a model's session stands ready that none of the device's own models runs in. */
  private Optional<Place> place(Route route, Member member, Collection<Route> routes) {
    @Nullable StructureRange session = member.switcher.session(route.version);
    if (session == null || isOwn(session, member, routes)) {
      return Optional.empty();
    }
    Place place = new Place(member, session);
    @Nullable Tried before = tried.get(place);
    return before != null && before.rests(nanoClock.getAsLong())
        ? Optional.empty()
        : Optional.of(place);
  }

  private static boolean isOwn(StructureRange session, Member member, Collection<Route> routes) {
    return routes.stream()
        .filter(route -> route.devices().contains(member.index))
        .anyMatch(route -> session.equals(member.switcher.session(route.version)));
  }

  /** Nobody reads it. */
  private static final class Answer implements ResultHandler {
    private final CompletableFuture<InferenceTimings> end = new CompletableFuture<>();

    @Override
    public MemorySegment place(String name, TensorType type, Shape shape, long byteSize) {
      return Arena.ofAuto().allocate(byteSize, 64);
    }

    @Override
    public void completed(InferenceTimings timings) {
      end.complete(timings);
    }

    @Override
    public void failed(StatusException error) {
      end.completeExceptionally(error);
    }

    Throwable failure() {
      return end.exceptionNow();
    }
  }
}
