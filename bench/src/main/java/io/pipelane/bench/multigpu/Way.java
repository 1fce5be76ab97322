package io.pipelane.bench.multigpu;

import java.util.Map;

/** How a server chooses the device for a request. */
enum Way {
  PREDICTED("predicted", "predicted", true),
  ONE_DEVICE_EACH("predicted, without replicas", "predicted", false),
  ROUND_ROBIN("round robin", "round-robin", false),
  STATIC("static", "static", false);

  private final String label;
  private final String routing;
  private final boolean replicas;

  Way(String label, String routing, boolean replicas) {
    this.label = label;
    this.routing = routing;
    this.replicas = replicas;
  }

  /** For people. */
  String label() {
    return label;
  }

  /** What a server is told. */
  Map<String, String> settings() {
    return Map.of(
        "placement.routing",
        routing,
        "placement.replicas",
        Boolean.toString(replicas),
        "placement.replica-half-life",
        "2s");
  }
}
