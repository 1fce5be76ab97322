package io.pipelane.switcher.memory;

import io.pipelane.switcher.memory.pages.PageContents.Content;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;

/** The models whose weights are alike in a page. Guarded by the memory daemon's lock. */
final class AlikeModels {
  private final Map<Content, Set<Residency>> owners = new HashMap<>();

  /** For each page of a model that is new here, one that has the same, if any: itself, perhaps. */
  Set<Residency> add(Residency residency) {
    Set<Residency> alike = new HashSet<>();
    for (Content content : residency.contents) {
      Set<Residency> models = owners.computeIfAbsent(content, _ -> new HashSet<>());
      models.stream().findFirst().ifPresent(alike::add); // Others know of each other already.
      models.add(residency);
    }
    return alike;
  }

  /** A model is going. */
  void remove(Residency residency) {
    for (Content content : residency.contents) {
      owners.computeIfPresent(
          content,
          (_, models) -> {
            models.remove(residency);
            return models.isEmpty() ? null : models;
          });
    }
  }
}
