package io.pipelane.switcher.placement;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.modelstore.ModelVersion;
import io.pipelane.switcher.InferenceService.Hold;
import io.pipelane.switcher.SpanningModels;
import java.lang.System.Logger.Level;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.BiConsumer;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** The models of a group that span its devices, and which device has which of their parts. */
final class Spans implements SpanningModels {
  private static final System.Logger LOG = System.getLogger(Spans.class.getName());

  private final List<Member> members;
  private final Placement placement;
  private final BiConsumer<ModelVersion, Member> asked;
  private final Map<String, Span> spans = new ConcurrentHashMap<>();

  /** What has no place at present, by name, so that nobody has to look again. */
  private final Map<String, Refusal> refusals = new ConcurrentHashMap<>();

  /** Why there is no place for some models, as long as the same devices are usable. */
  private record Refusal(Set<Member> usable, Set<ModelVersion> models, String reason) {}

  /** The placement that sees to it that models are where they should be. */
  interface Placement {
    /** A model has one device from now on, or is free again where that is null. */
    void confine(String model, @Nullable Member to);
  }

  /**
   * None yet.
   *
   * @param asked told of each online run of a part
   */
  Spans(List<Member> members, Placement placement, BiConsumer<ModelVersion, Member> asked) {
    this.members = members;
    this.placement = placement;
    this.asked = asked;
  }

  /**
   * The device that alone may have a model; null where any may, as from now on while it is lost.
   */
  @Nullable Member placeOf(String model) {
    @Nullable Span span = spanOf(model);
    @Nullable Member place = span == null ? null : span.placeOf().get(model);
    return place == null || letGo(model) ? null : place;
  }

  private @Nullable Span spanOf(String model) {
    return spans.values().stream()
        .filter(span -> span.placeOf().containsKey(model))
        .findFirst()
        .orElse(null);
  }

  /**
   * Lets a part be anywhere if its device is lost, until what it is a part of is looked at.
   *
   * @return whether it is such a part
   */
  synchronized boolean letGo(String model) {
    @Nullable Span span = spanOf(model);
    if (span == null || Objects.requireNonNull(span.placeOf().get(model)).isUsable()) {
      return false;
    }
    span.partLetGo();
    placement.confine(model, null);
    return true;
  }

  @Override
  public void place(String name, Map<String, Integer> deviceOf) {
    Map<String, Member> places = new HashMap<>();
    deviceOf.forEach((model, device) -> places.put(model, member(device)));
    @Nullable Span span = spans.get(name);
    if (span == null || !span.said().equals(places)) {
      replace(name, places);
    }
  }

  private Member member(int device) {
    if (device >= members.size()) {
      throw new StatusException(
          Status.INVALID_ARGUMENT,
          "there is no device %d; counted from 0 there are %s"
              .formatted(device, members.stream().map(member -> member.name).toList()));
    }
    return members.get(device);
  }

  private synchronized void replace(String name, Map<String, Member> places) {
    for (Map.Entry<String, Span> other : spans.entrySet()) {
      for (String model : places.keySet()) {
        if (!other.getKey().equals(name) && other.getValue().placeOf().containsKey(model)) {
          throw new StatusException(
              Status.INVALID_ARGUMENT,
              "model %s is a part of %s already, and switched with that"
                  .formatted(model, other.getKey()));
        }
      }
    }
    put(name, new Span(name, places, asked));
  }

  /** In place of another one, whose requests that are under way end as they have begun. */
  private synchronized void put(String name, Span span) {
    @Nullable Span earlier = spans.put(name, span);
    refusals.remove(name);
    if (earlier != null) {
      end(earlier, span.placeOf().keySet());
    }
    span.placeOf().forEach(placement::confine);
  }

  @Override
  public synchronized void forget(String name) {
    @Nullable Span span = spans.remove(name);
    refusals.remove(name);
    if (span != null) {
      end(span, Set.of());
    }
  }

  @Override
  public Map<String, Integer> deviceOf(String name) {
    @Nullable Span span = spans.get(name);
    return span == null
        ? Map.of()
        : span.placeOf().entrySet().stream()
            .collect(Collectors.toMap(Map.Entry::getKey, part -> part.getValue().index));
  }

  private void end(Span span, Set<String> remaining) {
    span.end();
    span.placeOf().keySet().stream()
        .filter(model -> !remaining.contains(model))
        .forEach(model -> placement.confine(model, null));
  }

  @Override
  public void requireUsable(String name, Collection<ModelVersion> models) {
    inPlace(name, models);
  }

  @Override
  public Hold switchIn(String name, Collection<ModelVersion> models) {
    return inPlace(name, models).switchIn(models);
  }

  private Span inPlace(String name, Collection<ModelVersion> models) {
    Span span = span(name);
    if (span.isInPlace()) {
      return span;
    }
    @Nullable Refusal known = refusals.get(name);
    if (known != null && known.equals(new Refusal(usable(), Set.copyOf(models), known.reason))) {
      throw StatusException.unavailable(known.reason);
    }
    return moved(name, models);
  }

  private Set<Member> usable() {
    return members.stream().filter(Member::isUsable).collect(Collectors.toSet());
  }

  /** Devices have been lost, or are there again. */
  private synchronized Span moved(String name, Collection<ModelVersion> models) {
    Span span = span(name);
    if (span.isInPlace()) {
      return span;
    }
    Set<Member> usable = usable();
    Map<String, Member> places;
    try {
      places = PartPlaces.of(name, span.said(), models, members);
    } catch (StatusException e) {
      refusals.put(name, new Refusal(usable, Set.copyOf(models), String.valueOf(e.getMessage())));
      throw e;
    }
    Span moved = new Span(name, span.said(), places, asked);
    put(name, moved);
    LOG.log(
        Level.WARNING,
        "a device of {0} was lost, or is there again; its parts are on {1} from now on",
        name,
        PartPlaces.text(places));
    return moved;
  }

  private Span span(String name) {
    @Nullable Span span = spans.get(name);
    if (span == null) {
      throw new StatusException(Status.NOT_FOUND, name + " spans no devices");
    }
    return span;
  }
}
