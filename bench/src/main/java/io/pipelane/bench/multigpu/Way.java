package io.pipelane.bench.multigpu;

import java.util.List;
import java.util.Map;

/** How a server chooses the device for a request. */
enum Way {
  PREDICTED("predicted", "predicted", true, 32),
  NONE_READY("predicted, no sessions ready", "predicted", true, 0),
  ONE_DEVICE_EACH("predicted, without replicas", "predicted", false, 32),
  ROUND_ROBIN("round robin", "round-robin", false, 32),
  STATIC("static", "static", false, 32);

  /** What is compared while all devices are there. */
  static final List<Way> SPREADING = List.of(PREDICTED, ONE_DEVICE_EACH, ROUND_ROBIN, STATIC);

  /** What is compared when one is lost. */
  static final List<Way> LOSING = List.of(PREDICTED, NONE_READY, ROUND_ROBIN);

  private final String label;
  private final String routing;
  private final boolean replicas;
  private final int readySessions;

  Way(String label, String routing, boolean replicas, int readySessions) {
    this.label = label;
    this.routing = routing;
    this.replicas = replicas;
    this.readySessions = readySessions;
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
        "placement.ready-sessions",
        Integer.toString(readySessions),
        "placement.replica-half-life",
        "2s");
  }
}
