package io.pipelane.bench.levers;

import java.util.Map;

/** What a server is asked, and what goes on beside that: some levers show in one of them alone. */
enum Workload {
  /** Different models, more than fit. */
  MIX("", "false", 1),

  /** The same where a model's copies differ in their last layers alone, as fine-tuned ones do. */
  VERSIONS(", versions", "true", 1),

  /** The first requests for models after a start, with weights on disk only. */
  FROM_DISK(", from disk", "false", 0.25),

  /** One half of the models, which fit, while the other half loads again and again. */
  BESIDE_LOADS(", beside loads", "false", 1);

  private final String label;
  private final String sharesPages;
  private final double rate;

  Workload(String label, String sharesPages, double rate) {
    this.label = label;
    this.sharesPages = sharesPages;
    this.rate = rate;
  }

  /** What the names of its rows have behind the device's. */
  String label() {
    return label;
  }

  /** What a server is told for its sake, by key. */
  Map<String, String> settings() {
    return Map.of("residency.share-pages", sharesPages);
  }

  /** Requests a second, where the mix has so many. */
  double perSecond(double inTheMix) {
    return rate * inTheMix;
  }

  /** Whether memory has room for all models. */
  boolean allFit() {
    return this == BESIDE_LOADS;
  }
}
