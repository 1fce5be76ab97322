package io.pipelane.switcher.placement;

import java.util.List;

/**
 * The rule that says on which devices a model is kept. It is on one more once the waiting that this
 * would save is clearly worth more than the memory is to others, on one less once a device saves
 * next to nothing.
 */
final class ReplicaRule {
  /*
   * Renting and buying (Karlin et al., Competitive snoopy caching, 1988). A model pays rent: the
   * waiting that one more device would have saved. It pays until the rent is more than the price:
   * what others would wait for lack of the memory. Both are rates, counted over the same half-life.
   *
   * Between opening and closing lie a factor, least values far apart, and a half-life of rest. So
   * no model comes and goes with the noise of its requests, wherever its rates lie.
   */

  /** What a device must save to be worth a change: one percent of one request's time. */
  static final double LEAST_TO_OPEN = 10e6;

  static final double LEAST_TO_STAY = LEAST_TO_OPEN / 4;

  /** How many times its price a device must save. */
  private static final double MARGIN = 2;

  private final long restNanos;

  /** A rule under which a model's devices stay the same for a time after each change. */
  ReplicaRule(long restNanos) {
    this.restNanos = restNanos;
  }

  /** A device as it concerns a model. */
  interface Candidate {
    int index();

    boolean isUsable();

    /** Whether it is one of the model's. */
    boolean has();

    /** Waiting that it would save if it had the model, in nanoseconds each second. */
    double couldSave();

    /** Waiting that it saves as it has the model, in nanoseconds each second. */
    double saves();

    /** What others would wait for lack of the memory, in nanoseconds each second; asked seldom. */
    double price();
  }

  /** A change to be made. */
  sealed interface Change {
    /** No change. */
    record None() implements Change {}

    /**
     * The change that the model is to be on one device more.
     *
     * @param gain what that saves beyond its price, in nanoseconds each second
     */
    record Open(int device, double gain) implements Change {}

    /** The change that the model is to be on one device less. */
    record Close(int device) implements Change {}
  }

  /**
   * Decides.
   *
   * @param devices of which one at least has the model; those it had first come first
   * @param settledNanos how long the model's devices have been the same
   */
  Change decide(List<? extends Candidate> devices, long settledNanos) {
    if (settledNanos < restNanos) {
      return new Change.None();
    }
    double most = 0;
    Change change = new Change.None();
    for (Candidate device : devices) {
      if (!device.has() && device.isUsable() && device.couldSave() >= LEAST_TO_OPEN) {
        double gain = device.couldSave() - MARGIN * device.price();
        if (gain > most) {
          most = gain;
          change = new Change.Open(device.index(), gain);
        }
      }
    }
    return change instanceof Change.None ? close(devices) : change;
  }

  private static Change close(List<? extends Candidate> devices) {
    List<? extends Candidate> had =
        devices.stream().filter(device -> device.has() && device.isUsable()).toList();
    if (had.size() < 2) {
      return new Change.None();
    }
    Candidate least = had.getFirst();
    for (Candidate device : had) {
      if (device.saves() <= least.saves()) {
        least = device; // The later one where they are alike.
      }
    }
    // What they save together is counted to each in turn, for its share of the requests.
    return had.size() * least.saves() < LEAST_TO_STAY
        ? new Change.Close(least.index())
        : new Change.None();
  }
}
