package io.pipelane.switcher.grouping;

import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * The costs of transfers to a device, from when they are known: whoever asks again goes by them,
 * without a restart. Safe for any thread; one thread at most makes it known.
 */
public final class LinkCosts {
  private volatile @Nullable PipelineCosts known;

  /** Not known yet. */
  public static LinkCosts unknown() {
    return new LinkCosts();
  }

  /** Known from the beginning. */
  public static LinkCosts of(PipelineCosts costs) {
    LinkCosts result = new LinkCosts();
    result.become(costs);
    return result;
  }

  /** The link has been measured. */
  public void become(PipelineCosts costs) {
    known = costs;
  }

  /** What was measured, if it was. */
  public Optional<PipelineCosts> known() {
    return Optional.ofNullable(known);
  }
}
