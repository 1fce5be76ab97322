package io.pipelane.switcher.memory.pages;

import io.pipelane.lanes.AddressRange;
import io.pipelane.lanes.PagePool.Page;
import java.util.BitSet;
import org.jspecify.annotations.Nullable;

/**
 * The tenants whose weights the pages had last, so that no tenant's model is lent a page with
 * another's. Such pages are zeroed, where that is wanted. Guarded by the memory daemon's lock.
 */
public final class PageTenants {
  /*
   * A page's tenant is noted when the page is taken back, not when it is lent. A page that was on
   * its way to a model and never got there may have its former content, the model's, or some of
   * both. Such a page is `doubtful`, and zeroed whoever gets it next.
   */
  private final boolean zeroing;
  private final @Nullable String[] tenants;
  private final BitSet doubtful = new BitSet();

  /**
   * Pages that nobody had yet.
   *
   * @param zeroing false lends every page as it is
   */
  public PageTenants(boolean zeroing, int pages) {
    this.zeroing = zeroing;
    this.tenants = new String[pages];
  }

  /** Puts a page that is lent to a tenant's model under a slot. */
  public void map(AddressRange range, int slot, Page page, String borrower) {
    if (zeroing && isAnothers(page, borrower)) {
      range.mapZeroed(slot, page);
    } else {
      range.map(slot, page);
    }
  }

  private boolean isAnothers(Page page, String tenant) {
    String former = tenants[page.index()];
    return doubtful.get(page.index()) || (former != null && !former.equals(tenant));
  }

  /**
   * Notes that a page of a tenant's model is taken back.
   *
   * @param arrived whether everything sent to the model's pages is known to have come
   */
  public void left(Page page, String former, boolean arrived) {
    tenants[page.index()] = former;
    doubtful.set(page.index(), !arrived);
  }
}
