package io.pipelane.switcher.placement;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.modelstore.ModelVersion;
import io.pipelane.modelstore.repository.ModelOptions.Priority;
import io.pipelane.switcher.ForwardingHandler;
import io.pipelane.switcher.InferenceRequest;
import io.pipelane.switcher.InferenceService.Hold;
import io.pipelane.switcher.InferenceService.Ticket;
import io.pipelane.switcher.InferenceTimings;
import io.pipelane.switcher.ResultHandler;
import io.pipelane.switcher.residency.Unit;
import java.lang.System.Logger.Level;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
import java.util.function.BiConsumer;
import org.jspecify.annotations.Nullable;

/**
 * A model over several devices: switched in on all of them or on none, and out of all when one
 * takes its part (PipeSwitch §4.5). Safe for any thread; blocks.
 */
final class Span {
  private static final System.Logger LOG = System.getLogger(Span.class.getName());

  /*
   * Devices are taken in the order of their indices, whatever the order of steps. So of two models
   * that want the same devices one is first on the first of them. A device is taken when the copies
   * have been sent for, not when they have arrived, so the links move at the same time.
   */
  private final String name;
  private final Map<String, Member> said;
  private final Map<String, Member> placeOf;
  private final BiConsumer<ModelVersion, Member> asked;
  private final Unit unit = new Unit(this::breakUp);
  private volatile Map<Member, List<ModelVersion>> latest = Map.of();
  private volatile boolean partLetGo;

  /**
   * A model that is nowhere.
   *
   * @param said devices by the names of models, as its owner wants it
   * @param asked told of each online run of a part
   */
  Span(String name, Map<String, Member> said, BiConsumer<ModelVersion, Member> asked) {
    this(name, said, said, asked);
  }

  /**
   * The same of which some parts are elsewhere.
   *
   * @param placeOf where they are
   */
  Span(
      String name,
      Map<String, Member> said,
      Map<String, Member> placeOf,
      BiConsumer<ModelVersion, Member> asked) {
    this.name = name;
    this.said = Map.copyOf(said);
    this.placeOf = Map.copyOf(placeOf);
    this.asked = asked;
  }

  Map<String, Member> placeOf() {
    return placeOf;
  }

  /** Where its owner wants its parts. */
  Map<String, Member> said() {
    return said;
  }

  /** A part is anywhere, as its device is lost. */
  void partLetGo() {
    partLetGo = true;
  }

  /** Whether each part is where its owner wants it, or elsewhere as that device is lost. */
  boolean isInPlace() {
    return !partLetGo
        && said.entrySet().stream().allMatch(part -> isInPlace(part.getKey(), part.getValue()));
  }

  private boolean isInPlace(String model, Member wanted) {
    Member place = Objects.requireNonNull(placeOf.get(model));
    return place.isUsable() && (place == wanted || !wanted.isUsable());
  }

  /** Refuses what a lost device has a part of. */
  private void requireUsable() {
    placeOf.values().stream()
        .filter(member -> !member.isUsable())
        .findFirst()
        .ifPresent(
            member -> {
              throw StatusException.unavailable(
                  "device %s is lost, and has a part of %s; try again"
                      .formatted(member.name, name));
            });
  }

  /** See {@link io.pipelane.switcher.SpanningModels#switchIn}. */
  Hold switchIn(Collection<ModelVersion> models) {
    Map<Member, List<ModelVersion>> parts =
        new TreeMap<>(Comparator.comparingInt(member -> member.index));
    models.stream()
        .distinct()
        .forEach(
            version -> parts.computeIfAbsent(place(version), _ -> new ArrayList<>()).add(version));
    parts.forEach(
        (member, part) -> named(member, () -> member.switcher.spanParts().join(part, unit)));
    latest = parts;
    Map<Member, Hold> held = new HashMap<>();
    try {
      parts.forEach(
          (member, part) ->
              named(member, () -> held.put(member, member.switcher.spanParts().switchIn(part))));
      requireUsable();
    } catch (RuntimeException | Error e) {
      held.values().forEach(Hold::close);
      unit.incomplete();
      parts.forEach(this::takeOut);
      throw e;
    }
    unit.completed();
    return new SwitchedIn(held);
  }

  private Member place(ModelVersion version) {
    @Nullable Member place = placeOf.get(version.model());
    if (place == null) {
      throw StatusException.unavailable(
          "%s was just loaded anew, and %s is no part of it any more; try again"
              .formatted(name, version));
    }
    return place;
  }

  private void named(Member member, Runnable step) {
    try {
      step.run();
    } catch (RuntimeException e) {
      if (isOfLoss(member, e)) {
        throw lost(member, e);
      }
      String message =
          "device %s cannot take its part of %s: %s".formatted(member.name, name, e.getMessage());
      throw e instanceof StatusException known
          ? known.saying(message)
          : new StatusException(Status.INTERNAL, message, e);
    }
  }

  /** Another device may do better what a lost one has failed in. */
  private static boolean isOfLoss(Member member, RuntimeException failure) {
    boolean isCancelled =
        failure instanceof StatusException known && known.status() == Status.CANCELLED;
    return !member.isUsable() && !isCancelled;
  }

  private static StatusException lost(Member member, RuntimeException failure) {
    return StatusException.unavailable(
        "device %s was lost under it; try again: %s".formatted(member.name, failure.getMessage()),
        failure);
  }

  /** The span's parts that are there on all devices. */
  private final class SwitchedIn implements Hold {
    private final Map<Member, Hold> held;

    SwitchedIn(Map<Member, Hold> held) {
      this.held = held;
    }

    @Override
    public Ticket submit(InferenceRequest request, ResultHandler handler) {
      Member member = place(request.model());
      Hold part = Objects.requireNonNull(held.get(member));
      member.routed.increment();
      if (request.priority() == Priority.ONLINE) {
        asked.accept(request.model(), member);
      }
      Counted counted =
          new Counted(member, request.priority(), member.switcher.executionNanos(request), handler);
      member.backlog.came(counted.priority, counted.expectedNanos);
      boolean given = false;
      try {
        Ticket ticket = part.submit(request, counted);
        given = true;
        return ticket;
      } finally {
        if (!given) {
          counted.left(); // Its handler is told nothing.
        }
      }
    }

    @Override
    public void close() {
      held.values().forEach(Hold::close);
    }
  }

  /**
   * A handler that counts a run as its device's, from its coming to its end, and is told of a lost
   * device that another one may do better.
   */
  private record Counted(
      Member member, Priority priority, long expectedNanos, ResultHandler handler)
      implements ForwardingHandler {
    void left() {
      member.backlog.left(priority, expectedNanos);
    }

    @Override
    public void completed(InferenceTimings timings) {
      left();
      member.answered(priority, timings);
      handler.completed(timings);
    }

    @Override
    public void failed(StatusException error) {
      left();
      handler.failed(isOfLoss(member, error) ? lost(member, error) : error);
    }
  }

  /**
   * A part has given way, with a daemon's lock held: the others follow on a thread that has none.
   */
  private void breakUp() {
    Thread.ofVirtual().name("switch-out").start(() -> latest.forEach(this::takeOut));
  }

  /** A lost device may fail in that, which concerns no other one. */
  private void takeOut(Member member, List<ModelVersion> part) {
    try {
      member.switcher.spanParts().takeOut(part);
    } catch (RuntimeException e) {
      LOG.log(Level.WARNING, "what %s has of %s stays for now".formatted(member.name, name), e);
    }
  }

  /** It is one no longer: its models are kept, or give way, one by one. */
  void end() {
    unit.end();
  }
}
