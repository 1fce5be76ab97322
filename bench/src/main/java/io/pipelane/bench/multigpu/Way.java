package io.pipelane.bench.multigpu;

import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * The way in which a server chooses the device for a request, and whether devices lend each other
 * memory.
 */
enum Way {
  PREDICTED("predicted"),
  NONE_READY("predicted, no sessions ready"),
  ONE_DEVICE_EACH("predicted, without replicas"),
  ROUND_ROBIN("round robin"),
  STATIC("static"),
  ONE_ASKED("first device asked alone"),
  ONE_ASKED_NOTHING_LENT("first device asked alone, nothing lent");

  /** What is compared while all devices are there. */
  static final List<Way> SPREADING =
      List.of(PREDICTED, ONE_DEVICE_EACH, ROUND_ROBIN, STATIC, ONE_ASKED, ONE_ASKED_NOTHING_LENT);

  /** What is compared when one is lost. */
  static final List<Way> LOSING = List.of(PREDICTED, NONE_READY, ROUND_ROBIN);

  private final String label;

  Way(String label) {
    this.label = label;
  }

  /** For people. */
  String label() {
    return label;
  }

  /** Whether what is measured asks only models of the first device, once all have been asked. */
  boolean asksFirstAlone() {
    return this == ONE_ASKED || this == ONE_ASKED_NOTHING_LENT;
  }

  /** What a server is told. */
  Map<String, String> settings() {
    Map<String, String> settings = new HashMap<>();
    settings.put("placement.replica-half-life", "2s");
    settings.put("placement.ready-sessions", this == NONE_READY ? "0" : "32");
    settings.putAll(
        switch (this) {
          case PREDICTED, NONE_READY -> routing("predicted", true);
          case ONE_DEVICE_EACH -> routing("predicted", false);
          case ROUND_ROBIN -> routing("round-robin", false);
          case STATIC, ONE_ASKED, ONE_ASKED_NOTHING_LENT -> routing("static", false);
        });
    if (asksFirstAlone()) {
      settings.put("residency.half-life", "2s");
      settings.put("placement.peer-memory", Boolean.toString(this == ONE_ASKED));
    }
    return settings;
  }

  private static Map<String, String> routing(String routing, boolean replicas) {
    return Map.of("placement.routing", routing, "placement.replicas", Boolean.toString(replicas));
  }
}
