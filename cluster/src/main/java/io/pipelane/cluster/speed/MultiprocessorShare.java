package io.pipelane.cluster.speed;

import io.pipelane.cluster.profile.WorkloadProfile;

/**
 * How many multiprocessors an offline workload may use beside an online one, as a share of all.
 * Chosen before the speed is predicted (MuxFlow, algorithm 1, line 6).
 */
public sealed interface MultiprocessorShare {
  /** The share beside this workload, above 0, at most 1. */
  double beside(WorkloadProfile online);

  /**
   * What the online workload leaves idle, by its SM activity (MuxFlow §4.3), rounded down to whole
   * steps.
   *
   * @param step what shares are multiples of
   * @param least that is given
   */
  record Complement(double step, double least) implements MultiprocessorShare {
    private static final double ROUNDING = 1e-9;

    /** Steps of a twentieth, a tenth at least. */
    public static final Complement STANDARD = new Complement(0.05, 0.1);

    public Complement {
      if (!(step > 0 && step <= least && least <= 1)) {
        throw new IllegalArgumentException(
            "steps of %s and %s at least; 0 < step <= least <= 1".formatted(step, least));
      }
    }

    @Override
    public double beside(WorkloadProfile online) {
      double idle = 1 - online.activity();
      return Math.clamp(Math.floor(idle / step + ROUNDING) * step, least, 1.0);
    }
  }

  /**
   * The same beside everybody.
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
