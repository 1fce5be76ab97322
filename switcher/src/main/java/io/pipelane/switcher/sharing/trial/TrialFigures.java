package io.pipelane.switcher.sharing.trial;

import java.lang.System.Logger.Level;
import java.util.OptionalDouble;

/**
 * What a trial has found last, with a share and without, told in the log and to whoever asks. Not
 * safe for several threads.
 */
final class TrialFigures {
  private static final System.Logger LOG = System.getLogger(ShareTrial.class.getName());

  private final ShareSizes sizes;
  private final OnlineLoad load;
  private final OnlineAlone alone;
  private OptionalDouble offlineWithout = OptionalDouble.empty();
  private OptionalDouble offlineWith = OptionalDouble.empty();
  private OptionalDouble onlineSlowdown = OptionalDouble.empty();

  /** Nothing was found. */
  TrialFigures(ShareSizes sizes, OnlineLoad load, OnlineAlone alone) {
    this.sizes = sizes;
    this.load = load;
    this.alone = alone;
  }

  /**
   * Both ways were compared.
   *
   * @param rateWithout what offline work did with gates alone
   * @param slower how many times as long as alone online answers took with the share
   */
  void compared(double rateWithout, SharedStretch with, double slower) {
    offlineWithout = OptionalDouble.of(rateWithout);
    offlineWith = OptionalDouble.of(with.offlineRate());
    onlineSlowdown = OptionalDouble.of(slower);
  }

  /** Whether they ever were. */
  boolean areThere() {
    return offlineWith.isPresent();
  }

  /** Tells what has become of a size, and why. */
  void tell(SharedStretch with, double rateWithout, String verdict) {
    LOG.log(
        Level.INFO,
        "offline work on {0} % of the multiprocessors: online answers take {1} times as long as alone"
            + " at a load of {2}, offline work does {3} of what it does alone, {4} without: {5}",
        sizes.percent(with.size()),
        alone.slower(with.answers()),
        load.load(),
        with.offlineRate(),
        rateWithout,
        verdict);
  }

  void tellFailing(int size) {
    LOG.log(
        Level.INFO,
        "offline work fails on {0} % of the multiprocessors: it is to have fewer",
        sizes.percent(size));
  }

  void tellUnlike(int size) {
    LOG.log(
        Level.INFO,
        "offline work on {0} % of the multiprocessors: too few online requests can be compared",
        sizes.percent(size));
  }

  void tellAllDifferent() {
    LOG.log(
        Level.INFO,
        "too few online requests are alike to tell what offline work on some of the multiprocessors"
            + " would cost them: none is tried for now");
  }

  void tellChanged(int size) {
    LOG.log(
        Level.INFO,
        "offline work on {0} % of the multiprocessors: what online answers take alone has changed"
            + " meanwhile, so both are measured anew",
        sizes.percent(size));
  }

  /**
   * For people.
   *
   * @param open the size that the share has now; negative for none
   */
  ShareOverview overview(ShareOverview.State state, int open) {
    return new ShareOverview(
        state,
        open == FittingSizes.NONE ? 0 : sizes.percent(open),
        sizes.overview(),
        offlineWithout,
        offlineWith,
        onlineSlowdown);
  }
}
