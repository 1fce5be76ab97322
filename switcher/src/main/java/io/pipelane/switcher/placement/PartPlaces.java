package io.pipelane.switcher.placement;

import io.pipelane.config.StatusException;
import io.pipelane.modelstore.ModelVersion;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** The devices of a model's parts, with others in place of those that are lost. */
final class PartPlaces {
  private final String name;
  private final Map<String, Member> placeOf;
  private final Map<Member, List<ModelVersion>> usable =
      new TreeMap<>(Comparator.comparingInt(member -> member.index));

  private PartPlaces(String name, Map<String, Member> said, List<Member> members) {
    this.name = name;
    this.placeOf = new HashMap<>(said);
    members.stream().filter(Member::isUsable).forEach(each -> usable.put(each, new ArrayList<>()));
  }

  /**
   * Where parts are to be: where their owner wants them, and what a lost device has is on another
   * one, beside what that has of the same model.
   *
   * @param name of what they make together
   * @param said devices by the names of models
   * @param models the parts
   * @throws StatusException {@link io.pipelane.config.Status#UNAVAILABLE} when none has room for it
   */
  static Map<String, Member> of(
      String name,
      Map<String, Member> said,
      Collection<ModelVersion> models,
      List<Member> members) {
    PartPlaces places = new PartPlaces(name, said, members);
    List<ModelVersion> left = new ArrayList<>();
    for (ModelVersion model : new LinkedHashSet<>(models)) {
      @Nullable Member place = said.get(model.model());
      if (place != null) {
        places.usable.getOrDefault(place, left).add(model);
      }
    }
    left.forEach(places::place);
    places.placeOf.values().stream().filter(place -> !place.isUsable()).forEach(places::refuse);
    return places.placeOf;
  }

  /** Has a part be where the fewest others are, of the devices that could hold it with them. */
  private void place(ModelVersion model) {
    Optional<Map.Entry<Member, List<ModelVersion>>> other =
        usable.entrySet().stream()
            .filter(there -> couldHold(there.getKey(), there.getValue(), model))
            .min(Comparator.comparingInt(there -> there.getValue().size()));
    other.ifPresent(
        there -> {
          there.getValue().add(model);
          placeOf.put(model.model(), there.getKey());
        });
  }

  private static boolean couldHold(Member member, List<ModelVersion> there, ModelVersion model) {
    List<ModelVersion> together = new ArrayList<>(there);
    together.add(model);
    return member.switcher.spanParts().couldHold(together);
  }

  private void refuse(Member lost) {
    throw StatusException.unavailable(
        "device %s is lost, and has a part of %s that no other one has room for beside its own; restart the server, or load %s with other devices"
            .formatted(lost.name, name, name));
  }

  /** Devices by the names of models, for people. */
  static String text(Map<String, Member> placeOf) {
    return placeOf.entrySet().stream()
        .sorted(Map.Entry.comparingByKey())
        .map(part -> part.getKey() + " on " + part.getValue().name)
        .collect(Collectors.joining(", "));
  }
}
