package io.pipelane.switcher.sharing.trial;

/**
 * How busy online runs keep a device, and what longer runs would mean for requests at that load.
 * Not safe for several threads.
 */
final class OnlineLoad {
  /*
   * The load is rate times time, averaged exponentially. Requests wait in line for each other, so
   * they slow down by more than their runs do, the more the higher the load: with random arrivals
   * and runs of one length (M/D/1, Pollaczek and Khinchine) a request takes 1 + l / (2 (1 - l)) of a
   * run, and runs that take s times as long make the load s times as high. Several lanes share the
   * line, which waits less then: the figure errs for online work.
   */
  private static final double MEMORY_NANOS = 2e9;

  private final int lanes;
  private double ranNanos;
  private double load;
  private long lookedNanos;
  private boolean looked;

  /**
   * No load.
   *
   * @param lanes runs that compute at once
   */
  OnlineLoad(int lanes) {
    this.lanes = lanes;
  }

  /** A run has ended. */
  void ran(long nanos) {
    ranNanos += nanos;
  }

  /**
   * Takes in what has run since the time before.
   *
   * @param slower how many times as long as with gates alone runs take now
   */
  void look(long nowNanos, double slower) {
    long passed = nowNanos - lookedNanos;
    if (looked && passed > 0) {
      double weight = -Math.expm1(-passed / MEMORY_NANOS);
      load += weight * (ranNanos / slower / lanes / passed - load);
    }
    if (!looked || passed > 0) {
      ranNanos = 0;
      lookedNanos = nowNanos;
      looked = true;
    }
  }

  /** Of the time, that in which runs would compute with gates alone; 1 is all that there is. */
  double load() {
    return load;
  }

  /** How many times as long requests take whose runs take so many times as long, at this load. */
  double requestsSlower(double runsSlower) {
    return requestsSlower(load, runsSlower);
  }

  static double requestsSlower(double load, double runsSlower) {
    double slowed = load * runsSlower;
    if (slowed >= 1) {
      return runsSlower <= 1 ? 1 : Double.POSITIVE_INFINITY; // The line grows without an end.
    }
    return runsSlower * runs(slowed) / runs(load);
  }

  /** What a request takes, in runs. */
  private static double runs(double load) {
    return 1 + load / (2 * (1 - load));
  }
}
