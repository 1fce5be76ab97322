package io.pipelane.switcher.placement;

import io.pipelane.config.StatusException;
import io.pipelane.modelstore.ModelVersion;
import io.pipelane.runtime.Shape;
import io.pipelane.runtime.TensorType;
import io.pipelane.switcher.InferenceRequest;
import io.pipelane.switcher.InferenceService.Hold;
import io.pipelane.switcher.InferenceService.Ticket;
import io.pipelane.switcher.InferenceTimings;
import io.pipelane.switcher.ResultHandler;
import java.lang.System.Logger.Level;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Function;
import java.util.function.LongSupplier;

/**
 * Has models run where their sessions stand ready, so that what a first run loads, tries out and
 * captures is there when the device takes over. Not safe for several threads; blocks while one
 * runs.
 */
final class RunsAhead {
  /*
   * They are offline requests on made-up numbers, in the form in which the model was asked for last:
   * they give way to what is asked for, have the weights come in behind those that are, and leave
   * them to whoever needs the room. Nothing that stays depends on the numbers. A model that could
   * not be run so is left alone: what its inputs must be like, nobody knows here.
   */
  private static final System.Logger LOG = System.getLogger(RunsAhead.class.getName());

  /** One that loads and tries out, one that is captured, one that replays it. */
  static final int RUNS = 3;

  /** How long those of one model may take. */
  static final Duration LONGEST = Duration.ofSeconds(10);

  /** How long a model is let alone for which there was no time. */
  static final long REST_NANOS = Duration.ofSeconds(30).toNanos();

  private final List<Member> members;
  private final Function<Member, Hold> devices;
  private final Duration longest;
  private final LongSupplier nanoClock;
  private final List<Tried> tried = new ArrayList<>();

  /**
   * Nothing has run yet.
   *
   * @param devices what takes a request there
   * @param longest how long one model's runs may take, by {@link System#nanoTime}
   * @param nanoClock counts how long models rest
   */
  RunsAhead(
      List<Member> members,
      Function<Member, Hold> devices,
      Duration longest,
      LongSupplier nanoClock) {
    this.members = members;
    this.devices = devices;
    this.longest = longest;
    this.nanoClock = nanoClock;
  }

  /** What became of a model's first runs on a device. */
  private record Tried(Route route, Member member, End end, long sinceNanos) {
    boolean isOver(Collection<Route> routes, long nowNanos) {
      return !routes.contains(route)
          || switch (end) {
            case DONE -> !member.switcher.hasSession(route.version);
            case LATER -> nowNanos - sinceNanos >= REST_NANOS;
            case REFUSED -> false;
          };
    }
  }

  private enum End {
    DONE,
    LATER,
    REFUSED
  }

  /** A model that is to run on a device. */
  private record Wanted(Route route, Member member, AskedForm form) {}

  /**
   * Looks at all models, and runs one at most.
   *
   * @param uses how often each is asked for, as {@link SwitcherGroup#uses} has it
   */
  void review(Collection<Route> routes, Map<ModelVersion, Double> uses) {
    tried.removeIf(each -> each.isOver(routes, nanoClock.getAsLong()));
    routes.stream()
        .filter(route -> !route.keepsState)
        .filter(route -> ReadySessions.isAskedFor(route, uses))
        .sorted(Comparator.comparingDouble(route -> -ReadySessions.usesOf(route, uses)))
        .flatMap(route -> wanted(route).stream())
        .findFirst()
        .ifPresent(this::run);
  }

  private Optional<Wanted> wanted(Route route) {
    return route
        .form()
        .flatMap(
            form ->
                route.candidates().stream()
                    .filter(device -> !route.devices().contains(device))
                    .map(members::get)
                    .filter(member -> member.isUsable() && !member.backlog.isOnline())
                    .filter(member -> member.switcher.hasSession(route.version))
                    .filter(member -> !hasTried(route, member))
                    .findFirst()
                    .map(member -> new Wanted(route, member, form)));
  }

  private boolean hasTried(Route route, Member member) {
    return tried.stream().anyMatch(each -> each.route.equals(route) && each.member.equals(member));
  }

  private void run(Wanted wanted) {
    long until = System.nanoTime() + longest.toNanos();
    End end = End.DONE;
    for (int run = 0; run < RUNS && end == End.DONE; run++) {
      end = runOnce(wanted, until);
    }
    tried.add(new Tried(wanted.route, wanted.member, end, nanoClock.getAsLong()));
  }

  private End runOnce(Wanted wanted, long until) {
    Answer answer = new Answer();
    Arena arena = Arena.ofAuto(); // A run that is cancelled may read its inputs for a while.
    Optional<InferenceRequest> request = wanted.form.madeUp(wanted.route.version, arena);
    if (request.isEmpty()) {
      return End.REFUSED;
    }
    try {
      Ticket ticket = devices.apply(wanted.member).submit(request.get(), answer);
      return await(answer, ticket, until);
    } catch (StatusException e) {
      return endOf(wanted, e);
    } catch (ExecutionException e) {
      return e.getCause() instanceof StatusException status ? endOf(wanted, status) : End.REFUSED;
    }
  }

  private static End await(Answer answer, Ticket ticket, long until) throws ExecutionException {
    try {
      answer.end.get(until - System.nanoTime(), TimeUnit.NANOSECONDS);
      return End.DONE;
    } catch (TimeoutException e) {
      ticket.cancel();
      return End.LATER;
    } catch (InterruptedException e) {
      ticket.cancel();
      Thread.currentThread().interrupt();
      return End.LATER;
    }
  }

  private static End endOf(Wanted wanted, StatusException e) {
    LOG.log(
        Level.DEBUG,
        "{0} has not run ahead on {1}: {2}",
        wanted.route.version,
        wanted.member.name,
        e.getMessage());
    return switch (e.status()) {
      case UNAVAILABLE, NOT_FOUND, CANCELLED, DEADLINE_EXCEEDED -> End.LATER;
      default -> End.REFUSED;
    };
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
  }
}
