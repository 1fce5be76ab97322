package io.pipelane.bench.memory;

import io.pipelane.bench.report.Column;
import io.pipelane.switcher.MemoryOverview;

/** A kind of use that device memory is taken for. */
enum Kind {
  WEIGHTS("weights"),
  LANES("ephemeral"),
  SESSIONS("sessions"),
  FRAMEWORK("framework");

  private final String label;

  Kind(String label) {
    this.label = label;
  }

  String label() {
    return label;
  }

  long bytes(MemoryOverview memory) {
    return switch (this) {
      case WEIGHTS -> memory.weights().lentBytes();
      case LANES -> memory.laneBytes();
      case SESSIONS -> memory.constantBytes();
      case FRAMEWORK -> memory.frameworkBytes();
    };
  }

  Column allocations() {
    return new Column(label + "_allocations", label + " allocations", 0);
  }

  Column average() {
    return new Column(label + "_average_mb", label + " MB", 1);
  }

  Column peak() {
    return new Column(label + "_peak_mb", "peak", 1);
  }
}
