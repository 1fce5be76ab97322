package io.pipelane.bench.residency;

import io.pipelane.loadgen.settings.ModelChoice;
import io.pipelane.loadgen.trace.TraceGenerator;
import io.pipelane.switcher.simulator.TracedUse;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;
import java.util.stream.IntStream;

/** Requests to replay; the same seed makes the same. */
public enum Traffic {
  /** Requests that come independently, for models whose popularity follows Zipf's law. */
  ZIPF("Zipf 0.9") {
    @Override
    public List<TracedUse> requests(int models, double perSecond, Duration length, long seed) {
      double[] upTo = shares(models);
      Arrays.parallelPrefix(upTo, Double::sum);
      SplittableRandom random = new SplittableRandom(seed);
      List<TracedUse> requests = new ArrayList<>();
      double seconds = length.toNanos() / 1e9;
      double time = random.nextExponential() / perSecond;
      while (time < seconds) {
        int place = Arrays.binarySearch(upTo, random.nextDouble() * upTo[models - 1]);
        int model = Math.min(models - 1, place < 0 ? -place - 1 : place);
        requests.add(new TracedUse(Math.round(time * 1e9), model));
        time += random.nextExponential() / perSecond;
      }
      return requests;
    }
  },
  /** What the load generator makes up after traces of Azure Functions. */
  AZURE("like Azure Functions") {
    @Override
    public List<TracedUse> requests(int models, double perSecond, Duration length, long seed) {
      List<String> names = IntStream.range(0, models).mapToObj(Integer::toString).toList();
      return new TraceGenerator(seed)
          .generate(names, perSecond, length).stream()
              .map(r -> new TracedUse(Math.round(r.seconds() * 1e9), Integer.parseInt(r.model())))
              .toList();
    }
  };

  private static final double EXPONENT = 0.9;

  private final String label;

  Traffic(String label) {
    this.label = label;
  }

  /**
   * Requests for so many models, sorted by time.
   *
   * @param perSecond of all models together
   */
  public abstract List<TracedUse> requests(
      int models, double perSecond, Duration length, long seed);

  /** The shares that models have of all requests where they follow Zipf's law. */
  static double[] shares(int models) {
    return new ModelChoice.Zipf(EXPONENT).shares(models);
  }

  String label() {
    return label;
  }
}
