package io.pipelane.switcher.jobs;

/**
 * A job of many iterations, all alike.
 *
 * @param id tells jobs apart
 * @param arrivalNanos when it comes
 * @param persistentBytes taken for as long as it is on the device
 * @param ephemeralBytes taken of its lane while an iteration runs
 * @param startNanos work without the device before its first iteration
 * @param iterationNanos what an iteration takes alone
 * @param deviceShare of that, for how much the device is busy, above 0 and at most 1; the rest is
 *     left to iterations in other lanes
 */
public record SimulatedJob(
    String id,
    long arrivalNanos,
    long persistentBytes,
    long ephemeralBytes,
    long startNanos,
    long iterationNanos,
    long iterations,
    double deviceShare) {
  public SimulatedJob {
    if (iterationNanos < 1 || iterations < 1 || startNanos < 0 || arrivalNanos < 0) {
      throw new IllegalArgumentException(
          "job %s: %d iterations of %d ns, %d ns before them, at %d ns"
              .formatted(id, iterations, iterationNanos, startNanos, arrivalNanos));
    }
    if (!(deviceShare > 0 && deviceShare <= 1)) {
      throw new IllegalArgumentException(
          "job " + id + ": a device share is above 0 and at most 1: " + deviceShare);
    }
  }

  /** What it takes alone on a device, without loading. */
  public long aloneNanos() {
    return startNanos + iterationNanos * iterations;
  }
}
