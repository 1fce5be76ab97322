package io.pipelane.loadgen.trace;

import io.pipelane.loadgen.settings.Trace;
import io.pipelane.loadgen.settings.Window;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.SplittableRandom;
import java.util.random.RandomGenerator;

/**
 * The generator of traces that look like those of Azure Functions (Shahrad et al., Serverless in
 * the Wild, USENIX ATC 2020, section 3). Popularity spreads over orders of magnitude, a good part
 * of the functions is called by timers, others come one by one or in clusters, and the load swings
 * with the time of day.
 */
public final class TraceGenerator {
  /*
   * Each model gets a log-normal weight and one of three kinds. Its share of the total rate is its
   * weight's. Timers are periodic with a random phase. The others draw arrivals that are
   * independent at the highest rate the model may have. They keep them with a probability that
   * follows the day's swing, or the state of an on/off process for clusters (thinning: Lewis and
   * Shedler, 1979).
   */
  private static final double POPULARITY_SPREAD = 2.0;
  private static final double TIMERS = 0.3;
  private static final double CLUSTERED = 0.3;
  private static final double SWING = 0.4;
  private static final double CLUSTER_ON_SHARE = 0.2;
  private static final int CLUSTERS = 12;

  private final SplittableRandom random;

  /** The same seed makes the same traces. */
  public TraceGenerator(long seed) {
    this.random = new SplittableRandom(seed);
  }

  /**
   * Makes up a trace.
   *
   * @param requestsPerSecond of all models together, on the average
   * @param length one day of the trace, however short it is
   * @throws IllegalArgumentException when that would not be between 1 and {@link
   *     Trace#MAXIMUM_REQUESTS} requests within a week
   */
  public List<TracedRequest> generate(
      List<String> models, double requestsPerSecond, Duration length) {
    double seconds = length.toNanos() / 1e9;
    double expected = requestsPerSecond * seconds;
    if (!(expected >= 1 && expected <= Trace.MAXIMUM_REQUESTS)
        || length.compareTo(Window.MAXIMUM) > 0) {
      throw new IllegalArgumentException(
          "a trace holds between 1 and %d requests, and lasts %s at most: %s requests/s for %s"
              .formatted(Trace.MAXIMUM_REQUESTS, Window.MAXIMUM, requestsPerSecond, length));
    }
    double[] weights = new double[models.size()];
    double sum = 0;
    for (int i = 0; i < weights.length; i++) {
      weights[i] = Math.exp(POPULARITY_SPREAD * random.nextGaussian());
      sum += weights[i];
    }
    List<TracedRequest> requests = new ArrayList<>();
    for (int i = 0; i < weights.length; i++) {
      double rate = requestsPerSecond * weights[i] / sum;
      RandomGenerator own = random.split();
      double kind = own.nextDouble();
      if (kind < TIMERS) {
        timer(models.get(i), rate, seconds, own, requests);
      } else {
        boolean clustered = kind < TIMERS + CLUSTERED;
        thinned(models.get(i), rate, seconds, clustered, own, requests);
      }
    }
    requests.sort(Comparator.comparingDouble(TracedRequest::seconds));
    return requests;
  }

  private static void timer(
      String model, double rate, double seconds, RandomGenerator random, List<TracedRequest> to) {
    for (double time = random.nextDouble() / rate; time < seconds; time += 1 / rate) {
      to.add(new TracedRequest(time, model, 1));
    }
  }

  private static void thinned(
      String model,
      double rate,
      double seconds,
      boolean clustered,
      RandomGenerator random,
      List<TracedRequest> to) {
    double highest = rate * (1 + SWING) * (clustered ? 1 / CLUSTER_ON_SHARE : 1);
    double cycle = seconds / CLUSTERS;
    double phase = random.nextDouble();
    double time = random.nextExponential() / highest;
    while (time < seconds) {
      boolean on = !clustered || (time / cycle + phase) % 1 < CLUSTER_ON_SHARE;
      double share = (1 + SWING * Math.sin(2 * Math.PI * time / seconds)) / (1 + SWING);
      if (on && random.nextDouble() < share) {
        to.add(new TracedRequest(time, model, 1));
      }
      time += random.nextExponential() / highest;
    }
  }
}
