package io.pipelane.switcher.placement;

import io.pipelane.config.StatusException;
import io.pipelane.lanes.EphemeralRegion;
import io.pipelane.lanes.execution.WorkerLostException;
import io.pipelane.modelstore.ModelVersion;
import io.pipelane.runtime.Shape;
import io.pipelane.runtime.TensorType;
import io.pipelane.switcher.InferenceRequest;
import io.pipelane.switcher.InferenceService.Hold;
import io.pipelane.switcher.InferenceService.Ticket;
import io.pipelane.switcher.InferenceTimings;
import io.pipelane.switcher.ResultHandler;
import io.pipelane.switcher.StandingSessions;
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
 * Runs of models in each lane where their sessions stand ready. What first runs load, try out and
 * capture is there when the device takes over. Not safe for several threads; waits for nothing.
 */
final class RunsAhead {
  /*
   * These runs are offline requests on made-up numbers, in the form in which the model was asked
   * for last. They give way to what is asked for, and have their weights come in behind those that
   * are. They count as no uses, so their session and weights leave before all that somebody has
   * asked for. Each names its lane, so none has a session built, and nobody gives way to its
   * session or its lane.
   *
   * On each device one run is under way at a time. The next begins in a later look, in a lane that
   * is free: a capture is made behind its run's answer, in its lane, and keeps others of the device
   * from being made. All models run in one lane before any does in a second one.
   *
   * Nobody knows here what a model's inputs must be like. A model that refuses what was made up is
   * left until it is asked for in another form. One that costs a worker process is left for good.
   */
  private static final System.Logger LOG = System.getLogger(RunsAhead.class.getName());

  /** Where a session is captured later than this, it is left with what one run loads. */
  static final int MOST_RUNS = 16;

  /** How long those of one model may take, and others wait for them. */
  static final long LONGEST_NANOS = Duration.ofSeconds(10).toNanos();

  /** How long a model is let alone for which there was no time. */
  static final long REST_NANOS = Duration.ofSeconds(30).toNanos();

  private final List<Member> members;
  private final Function<Member, Hold> devices;

  /** No more than have it captured: two captures that fail in a row would be a session's last. */
  private final int runs;

  private final LongSupplier nanoClock;
  private final Map<Place, Tried> tried = new HashMap<>();
  private final Map<Member, Attempt> current = new HashMap<>();

  /**
   * Nothing has run yet.
   *
   * @param devices what takes a request there
   * @param firstRuns the last of which is captured, or loads what there is to load where nothing is
   */
  RunsAhead(
      List<Member> members, Function<Member, Hold> devices, int firstRuns, LongSupplier nanoClock) {
    this.members = members;
    this.devices = devices;
    this.runs = firstRuns <= MOST_RUNS ? firstRuns : 1;
    this.nanoClock = nanoClock;
  }

  /** A session in a device's lane, whichever of the models that share it. */
  private record Place(Member member, StructureRange session, EphemeralRegion lane) {
    boolean isOfSameSessions(Place other) {
      return member.equals(other.member) && session.equals(other.session);
    }

    boolean isThereFor(Route route) {
      StandingSessions standing = member.switcher.standing();
      return session.equals(standing.of(route.version))
          && standing.lanes(route.version).contains(lane);
    }

    boolean isFree() {
      return member.switcher.standing().isFree(lane);
    }
  }

  private enum End {
    DONE,
    LATER,
    REFUSED,
    HARMFUL
  }

  /**
   * The outcome of a session's first runs.
   *
   * @param begun of them, in the session that is there
   */
  private record Tried(
      Route route, Place place, AskedForm form, End end, int begun, long sinceNanos) {
    boolean isOver(Collection<Route> routes) {
      return !routes.contains(route)
          || switch (end) {
            case DONE -> !place.isThereFor(route);
            case REFUSED -> !place.isThereFor(route) || !route.form().equals(Optional.of(form));
            case LATER, HARMFUL -> false;
          };
    }

    /** The session's end is that of what has run in it. */
    Tried lookedAt() {
      return begun == 0 || place.isThereFor(route)
          ? this
          : new Tried(route, place, form, end, 0, sinceNanos);
    }

    /** Whether nothing is to be begun in a place: what goes wrong in one lane may in all. */
    boolean forbids(Place other, long nowNanos) {
      return switch (end) {
        case DONE -> place.equals(other);
        case LATER -> place.isOfSameSessions(other) && nowNanos - sinceNanos < REST_NANOS;
        case REFUSED, HARMFUL -> place.isOfSameSessions(other);
      };
    }
  }

  /** An attempt at runs of a model on a device, one of which may be under way. */
  private final class Attempt {
    final Route route;
    final Place place;
    final AskedForm form;
    final long sinceNanos = nanoClock.getAsLong();
    int begun;
    private Answer answer = new Answer();
    private Ticket ticket = Ticket.ENDED;

    private boolean isUnderWay;

    /**
     * Nothing is under way.
     *
     * @param begun runs in the session before, of which no more is known
     */
    Attempt(Route route, Place place, AskedForm form, int begun) {
      this.route = route;
      this.place = place;
      this.form = form;
      this.begun = begun;
    }

    /** Begins a run, or says how all of them have ended. */
    @Nullable End goOn() {
      boolean isLate = nanoClock.getAsLong() - sinceNanos >= LONGEST_NANOS;
      if (isUnderWay && !answer.end.isDone()) {
        return isLate ? givenUp() : null;
      }
      if (isUnderWay && answer.end.isCompletedExceptionally()) {
        return endOf(answer.failure());
      }
      if (begun >= runs) {
        return End.DONE;
      }
      if (isLate || !place.isThereFor(route)) {
        return End.LATER;
      }
      return place.member.backlog.requests() == 0 && place.isFree() ? begin() : null;
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
      isUnderWay = true;
      answer = new Answer();
      try {
        ticket = devices.apply(place.member).submit(request.get().in(place.lane), answer);
        return null;
      } catch (RuntimeException e) { // It may have been taken out meanwhile.
        return endOf(e);
      }
    }

    private End endOf(Throwable failure) {
      begun--; // What has failed is captured no sooner for it.
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
      case NAMED, ALONE, SHORTAGE -> true;
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
    tried.replaceAll((_, each) -> each.lookedAt());
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
      Tried ended =
          new Tried(
              attempt.route,
              attempt.place,
              attempt.form,
              end,
              attempt.begun,
              nanoClock.getAsLong());
      tried.put(attempt.place, ended);
      LOG.log(
          Level.DEBUG,
          "{0} has begun {1} runs ahead on {2} in the lane at {3}: {4}",
          attempt.route.version,
          attempt.begun,
          member.name,
          attempt.place.lane.address(),
          end);
    }
  }

  private static void forgetUses(Attempt attempt) {
    if (!attempt.route.devices().contains(attempt.place.member.index)) {
      try {
        attempt.place.member.switcher.standing().forgetUses(attempt.route.version);
      } catch (StatusException e) { // It has been taken out meanwhile.
        LOG.log(Level.DEBUG, "{0} is gone: {1}", attempt.route.version, e.getMessage());
      }
    }
  }

  /**
   * Those that were never tried first, of those the ones that have run in the fewest lanes, of
   * those the one that is asked for most.
   */
  private Optional<Attempt> next(
      Member member, Collection<Route> routes, Map<ModelVersion, Double> uses) {
    return routes.stream()
        .filter(route -> !route.keepsState && ReadySessions.isAskedFor(route, uses))
        .filter(route -> route.candidates().contains(member.index))
        .filter(route -> !route.devices().contains(member.index))
        .sorted(Comparator.comparingDouble(route -> -ReadySessions.usesOf(route, uses)))
        .flatMap(route -> wanted(route, member, routes).stream())
        .min(
            Comparator.comparing((Attempt attempt) -> tried.containsKey(attempt.place))
                .thenComparingLong(attempt -> lanesTried(attempt.place)));
  }

  private long lanesTried(Place place) {
    return tried.keySet().stream().filter(place::isOfSameSessions).count();
  }

  private List<Attempt> wanted(Route route, Member member, Collection<Route> routes) {
    Optional<AskedForm> form = route.form();
    return form.isEmpty() || member.switcher.quarantine(route.version).isPresent()
        ? List.of()
        : places(route, member, routes).stream()
            .map(place -> new Attempt(route, place, form.get(), begunBefore(place, form.get())))
            .toList();
  }

  private int begunBefore(Place place, AskedForm form) {
    @Nullable Tried before = tried.get(place);
    return before == null || !before.form.equals(form) ? 0 : before.begun;
  }

  /** Where a model's sessions stand ready that none of the device's own models runs in. */
  private List<Place> places(Route route, Member member, Collection<Route> routes) {
    @Nullable StructureRange session = member.switcher.standing().of(route.version);
    if (session == null || ReadySessions.isOwn(session, member, routes)) {
      return List.of();
    }
    long now = nanoClock.getAsLong();
    return member.switcher.standing().lanes(route.version).stream()
        .map(lane -> new Place(member, session, lane))
        .filter(Place::isFree)
        .filter(place -> tried.values().stream().noneMatch(each -> each.forbids(place, now)))
        .toList();
  }

  /** An answer that nobody reads. */
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
