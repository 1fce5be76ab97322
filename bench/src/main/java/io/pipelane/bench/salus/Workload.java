package io.pipelane.bench.salus;

import io.pipelane.switcher.jobs.SimulatedJob;

/**
 * A model that is trained with a batch size: one of the 45 of Salus' table 2, on a P100.
 *
 * @param persistentBytes parameters and what else lives between iterations
 * @param ephemeralBytes what an iteration takes besides
 * @param iterationNanos what an iteration takes alone
 * @param deviceShare of that, for how much the device is taken to be busy
 * @param startNanos what TensorFlow takes before the first iteration
 */
public record Workload(
    String model,
    String batch,
    long persistentBytes,
    long ephemeralBytes,
    long iterationNanos,
    double deviceShare,
    long startNanos) {
  private static final long MIB = 1 << 20;
  private static final double NANOS_PER_MILLI = 1e6;
  private static final double NANOS_PER_SECOND = 1e9;

  /** The paper's name for it, {@code resnet50_25} for instance. */
  public String name() {
    return model + "_" + batch;
  }

  /** A job of so many iterations, without TensorFlow's start. */
  public SimulatedJob job(String id, long arrivalNanos, long iterations) {
    return job(id, arrivalNanos, iterations, 0);
  }

  /** A job of so many iterations. */
  public SimulatedJob job(String id, long arrivalNanos, long iterations, long startNanos) {
    return new SimulatedJob(
        id,
        arrivalNanos,
        persistentBytes,
        ephemeralBytes,
        startNanos,
        iterationNanos,
        iterations,
        deviceShare);
  }

  /** A line of the list of workloads. */
  static Workload parse(String line) {
    String[] cells = line.split(",", -1);
    double persistent = Double.parseDouble(cells[2]);
    double peak = Double.parseDouble(cells[3]);
    double iteration = Double.parseDouble(cells[4]);
    double fixed = Double.parseDouble(cells[5]);
    return new Workload(
        cells[0],
        cells[1],
        Math.round(persistent * MIB),
        Math.round((peak - persistent) * MIB),
        Math.round(iteration * NANOS_PER_MILLI),
        Math.max(0.01, 1 - fixed / iteration),
        Math.round(Double.parseDouble(cells[6]) * NANOS_PER_SECOND));
  }
}
