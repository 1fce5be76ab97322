package io.pipelane.switcher.memory.pages;

import io.pipelane.lanes.PagePool;
import io.pipelane.lanes.PagePool.Page;
import io.pipelane.switcher.memory.pages.PageContents.Content;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * The pages that models hold, and what is in them, so that models whose weights are alike in a page
 * hold one together. Guarded by the memory daemon's lock.
 */
public final class SharedPages {
  /*
   * A page is held once for each place in a model's weights that it is the page of. The pool has it
   * back when the last of these holds is given up. It does not matter who filled it.
   *
   * A page is offered once all copies that fill it have been sent for, until it goes back or one of
   * them has failed. Only these copies write to it. Whoever holds a page that was offered has no
   * copies sent to it. He waits for the others' as if they were his own, and so rolls back what
   * they failed to bring. Runs only read weights.
   */
  private final PagePool pages;
  private final int[] holders;
  private final @Nullable Content[] offered;
  private final Map<Content, Offer> offers = new HashMap<>();

  /**
   * A page that others may hold, too.
   *
   * @param filling copies that may be on their way to it
   */
  public record Offer(Page page, List<Arrival> filling) {}

  /** Holds no page yet. */
  public SharedPages(PagePool pages) {
    this.pages = pages;
    this.holders = new int[pages.total()];
    this.offered = new Content[pages.total()];
  }

  /** Lends a page that nobody holds, to be held once. */
  public Page take() {
    Page page = pages.take().orElseThrow(() -> new IllegalStateException("pages ran out"));
    holders[page.index()] = 1;
    return page;
  }

  /** Has a page that is held be held once more. */
  public void hold(Page page) {
    holders[page.index()]++;
  }

  /** Gives a page up; the pool has it back, if that was the last to hold it. */
  public void letGo(Page page) {
    if (holders[page.index()] == 1) {
      pages.giveBack(page);
      withdraw(page);
    }
    holders[page.index()]--;
  }

  /** How often a page is held. */
  public int holders(Page page) {
    return holders[page.index()];
  }

  /** Lets others hold a page, unless there is one with the same in it. */
  public void offer(Page page, Content content, List<Arrival> filling) {
    if (find(content).isEmpty()) {
      offers.put(content, new Offer(page, List.copyOf(filling)));
      offered[page.index()] = content;
    }
  }

  /** A page with a certain content, or that it is on its way to. */
  public Optional<Offer> find(Content content) {
    @Nullable Offer offer = offers.get(content);
    if (offer != null && offer.filling.stream().anyMatch(Arrival::hasFailed)) {
      withdraw(offer.page);
      return Optional.empty();
    }
    return Optional.ofNullable(offer);
  }

  private void withdraw(Page page) {
    @Nullable Content content = offered[page.index()];
    if (content != null) {
      Objects.requireNonNull(offers.remove(content), "an offer that was not made");
      offered[page.index()] = null;
    }
  }
}
