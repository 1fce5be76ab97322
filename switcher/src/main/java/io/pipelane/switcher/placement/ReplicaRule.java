package io.pipelane.switcher.placement;

import java.util.List;

/**
 * Decides on which devices a model is kept: on one more, or on another, once the waiting that this
 * would save is clearly worth more than the memory is to others, on one less once a device saves
 * next to nothing.
 */
final class ReplicaRule {
  /*
   * Renting and buying (Karlin et al., Competitive snoopy caching, 1988): a model pays rent, the
   * waiting that one more device would have saved, until that is more than the price, what others
   * would wait for lack of the memory. Both are rates, counted over the same half-life. Between
   * opening and closing lie a factor, least values far apart, and a half-life of rest, so that no
   * model comes and goes with the noise of its requests, however it lies.
   *
   * A model whose requests wait for others' moves: that saves as much as a replica, and takes the
   * memory once. One whose requests wait for each other would have them wait there as well.
   */

  /** What a device must save to be worth a change: one percent of one request's time. */
  static final double LEAST_TO_OPEN = 10e6;

  static final double LEAST_TO_STAY = LEAST_TO_OPEN / 4;

  /** How many times its price a device must save. */
  private static final double MARGIN = 2;

  /** What part of a replica's gain a move must bring to be made instead. */
  private static final double MOVE_BRINGS = 0.75;

  private final long restNanos;
  private final boolean replicas;

  /**
   * A rule under which a model's devices stay the same for a time after each change.
   *
   * @param replicas whether a model may have several devices
   */
  ReplicaRule(long restNanos, boolean replicas) {
    this.restNanos = restNanos;
    this.replicas = replicas;
  }

  /** A device as it concerns a model. */
  interface Candidate {
    int index();

    boolean isUsable();

    /** Whether it is one of the model's. */
    boolean has();

    /** Waiting that it would save if it had the model, in nanoseconds each second. */
    double couldSave();

    /**
     * Waiting that it would save if it had the model instead of the only device, in nanoseconds
     * each second; below 0 where there would be more.
     */
    double movingSaves();

    /** Waiting that it saves as it has the model, in nanoseconds each second. */
    double saves();

    /** What others would wait for lack of the memory, in nanoseconds each second; asked seldom. */
    double price();
  }

  /** What is to be done. */
  sealed interface Change {
    /** What it saves beyond its price, in nanoseconds each second. */
    default double gain() {
      return 0;
    }

    /** Nothing. */
    record None() implements Change {}

    /** The model is to be on one device more. */
    record Open(int device, double gain) implements Change {}

    /** The model is to be on another device than its only one. */
    record Move(int from, int device, double gain) implements Change {}

    /** The model is to be on one device less. */
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
    Change change = new Change.None();
    for (Candidate device : devices) {
      if (!device.has() && device.isUsable()) {
        Change gained = gained(devices, device);
        change = gained.gain() > change.gain() ? gained : change;
      }
    }
    return change instanceof Change.None ? close(devices) : change;
  }

  /** The better of what a device that the model has not could do for it. */
  private Change gained(List<? extends Candidate> devices, Candidate device) {
    List<? extends Candidate> had = devices.stream().filter(Candidate::has).toList();
    boolean opens = replicas && device.couldSave() >= LEAST_TO_OPEN;
    boolean moves = had.size() == 1 && device.movingSaves() >= LEAST_TO_OPEN;
    if (!opens && !moves) {
      return new Change.None();
    }
    double price = MARGIN * device.price();
    double opening = opens ? device.couldSave() - price : 0;
    double moving = moves ? device.movingSaves() - price : 0;
    if (moving > 0 && moving >= MOVE_BRINGS * opening) {
      return new Change.Move(had.getFirst().index(), device.index(), moving);
    }
    return new Change.Open(device.index(), opening);
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
