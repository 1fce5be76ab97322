package io.pipelane.switcher.memory;

import io.pipelane.lanes.PagePool.Page;
import io.pipelane.switcher.memory.pages.PageContents.Content;
import io.pipelane.switcher.memory.pages.SharedPages;
import io.pipelane.switcher.memory.pages.SharedPages.Offer;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * Pages that models miss and others have, held so that they stay while room is made for the rest.
 * Opened, used and closed while the daemon's lock is held once.
 */
final class Claim implements AutoCloseable {
  private final SharedPages shared;
  private final Map<Residency, Claimed> claims = new HashMap<>();
  private int pages;

  /**
   * The pages that one model claims.
   *
   * @param held pages that are the claim's, by slot
   * @param slots all that were
   */
  private record Claimed(Map<Integer, Offer> held, BitSet slots) {
    Claimed() {
      this(new HashMap<>(), new BitSet());
    }
  }

  private Claim(SharedPages shared) {
    this.shared = shared;
  }

  /** Claims whatever others have of what models miss. */
  static Claim of(Collection<Residency> models, SharedPages shared) {
    Claim claim = new Claim(shared);
    models.forEach(claim::add);
    return claim;
  }

  private void add(Residency residency) {
    Claimed claimed = new Claimed();
    List<Content> contents = residency.contents;
    for (int slot = residency.pages.size(); slot < contents.size(); slot++) {
      int claimedSlot = slot;
      shared
          .find(contents.get(slot))
          .ifPresent(
              offer -> {
                shared.hold(offer.page());
                claimed.held.put(claimedSlot, offer);
                claimed.slots.set(claimedSlot);
                pages++;
              });
    }
    claims.put(residency, claimed);
  }

  /** Pages that are claimed and that no model has been given yet. */
  int pages() {
    return pages;
  }

  /** How many of them are among some. */
  long pagesAmong(Set<Page> some) {
    return claims.values().stream()
        .flatMap(claimed -> claimed.held.values().stream())
        .filter(offer -> some.contains(offer.page()))
        .count();
  }

  /** Whether a model's page is, or was, claimed: nothing need be copied to it. */
  boolean has(Residency residency, int slot) {
    return claimed(residency).slots.get(slot);
  }

  /** The pages that are claimed for a model from a slot on, one after the other. */
  List<Offer> from(Residency residency, int slot) {
    List<Offer> run = new ArrayList<>();
    Claimed claimed = claimed(residency);
    for (Offer next = claimed.held.get(slot);
        next != null;
        next = claimed.held.get(slot + run.size())) {
      run.add(next);
    }
    return run;
  }

  /** Says that a model has been given the page of a slot, and holds it from now on. */
  void given(Residency residency, int slot) {
    claimed(residency).held.remove(slot);
    pages--;
  }

  private Claimed claimed(Residency residency) {
    return claims.getOrDefault(residency, new Claimed());
  }

  /** Gives up what no model has been given. */
  @Override
  public void close() {
    claims.values().forEach(claimed -> claimed.held.values().forEach(o -> shared.letGo(o.page())));
    claims.clear();
  }
}
