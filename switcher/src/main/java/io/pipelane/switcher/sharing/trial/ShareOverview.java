package io.pipelane.switcher.sharing.trial;

import java.util.List;
import java.util.Locale;
import java.util.OptionalDouble;

/**
 * Whether, and of what size, offline work has a share of the multiprocessors to itself, and what
 * was measured of that when both ways were compared last; nothing before.
 *
 * @param percent of the multiprocessors, what it has now; 0 while it has none
 * @param sizes that it may have, ascending
 * @param offlineWithout what offline work did without the share, of what it does with the whole
 *     device to itself
 * @param offlineWith the same with it
 * @param onlineSlowdown how many times as long as alone online answers took with it
 */
public record ShareOverview(
    State state,
    int percent,
    List<Size> sizes,
    OptionalDouble offlineWithout,
    OptionalDouble offlineWith,
    OptionalDouble onlineSlowdown) {
  public ShareOverview {
    sizes = List.copyOf(sizes);
  }

  /**
   * A size of the share, and what is known of it; nothing before it was compared with none, or
   * where that was long ago.
   *
   * @param onlineSlowdown how many times as long as alone online answers took beside it
   * @param offlineWith what offline work did with it, of what it does with the whole device to
   *     itself
   */
  public record Size(int percent, OptionalDouble onlineSlowdown, OptionalDouble offlineWith) {}

  /** What has become of the share. */
  public enum State {
    /** There is none. */
    OFF,
    /** It is there, and nobody asks whether it pays. */
    ALWAYS,
    /** It has not been compared with none yet: for want of online work, or of time. */
    UNTRIED,
    /** It is being compared. */
    TRYING,
    /** It pays. */
    KEPT,
    /** Online work has too much to do for it to be open, or to be tried; gates alone protect. */
    LOADED,
    /** It does not pay, for now. */
    DROPPED;

    @Override
    public String toString() {
      return name().toLowerCase(Locale.ROOT);
    }
  }
}
