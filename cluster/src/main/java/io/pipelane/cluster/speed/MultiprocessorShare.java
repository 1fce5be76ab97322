package io.pipelane.cluster.speed;

import io.pipelane.cluster.profile.WorkloadProfile;

/**
 * The share of all multiprocessors that an offline workload may use beside an online one. Chosen
 * before the speed is predicted (MuxFlow, algorithm 1, line 6).
 */
public sealed interface MultiprocessorShare {
  /** The share beside this workload, above 0, at most 1. */
  double beside(WorkloadProfile online);

  /**
   * The multiprocessors that the online workload leaves idle, by its SM activity, as far as their
   * use slows it down no more than is acceptable (MuxFlow §4.3), rounded down to whole steps. While
   * a request runs, both together may want more multiprocessors than there are by the slowdown
   * only.
   *
   * @param step what shares are multiples of
   * @param least that is given
   * @param slowdown of online requests that is acceptable, 0.2 for a fifth
   */
  record Complement(double step, double least, double slowdown) implements MultiprocessorShare {
    private static final double ROUNDING = 1e-9;

    /** Steps of a twentieth, a tenth at least; a fifth slower, which is the paper's bound. */
    public static final Complement STANDARD = new Complement(0.05, 0.1, 0.2);

    public Complement {
      if (!(step > 0 && step <= least && least <= 1 && slowdown >= 0)) {
        throw new IllegalArgumentException(
            "steps of %s, %s at least, slowdown %s; 0 < step <= least <= 1, slowdown 0 or more"
                .formatted(step, least, slowdown));
      }
    }

    @Override
    public double beside(WorkloadProfile online) {
      double idle = 1 - online.activity();
      double whileBusy = online.utilization() == 0 ? 0 : online.activity() / online.utilization();
      double share = Math.min(idle, 1 + slowdown - whileBusy);
      return Math.clamp(Math.floor(share / step + ROUNDING) * step, least, 1.0);
    }
  }

  /**
   * The same share beside every workload.
   *
   * @param share above 0, at most 1
   */
  record Fixed(double share) implements MultiprocessorShare {
    public Fixed {
      if (!(share > 0 && share <= 1)) {
        throw new IllegalArgumentException("share is %s; 0 < share <= 1".formatted(share));
      }
    }

    @Override
    public double beside(WorkloadProfile online) {
      return share;
    }
  }
}
