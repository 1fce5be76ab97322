package io.pipelane.switcher.residency;

/**
 * A policy that says who gives way when device memory is wanted, and what is brought in while
 * nobody waits.
 */
public interface ResidencyPolicy {
  /*
   * A policy may have state of its own: it belongs to one Holdings, and is guarded like that.
   */

  /**
   * How much the last page that a model holds is worth keeping, on a scale of the policy's own: the
   * least is taken first. Changes only when the model is used, or gains or loses pages.
   *
   * @param holding holds one page at least
   */
  double worth(Holding holding);

  /** Notes a use of a model. */
  void used(Holding holding);

  /** Notes that a model gave way, for others. */
  default void gaveWay(Holding holding) {}

  /** Pages that go at once when a model gives way. */
  int givesWay(Holding holding);

  /** Whether weights stay on the device after a run. */
  default boolean keepsAfterRuns() {
    return true;
  }

  /** Whether prefixes are planned, and moved while the link is idle. */
  default boolean plansAhead() {
    return false;
  }
}
