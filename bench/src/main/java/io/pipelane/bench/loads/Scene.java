package io.pipelane.bench.loads;

/** One of the things that others do while a resident model is asked. */
public enum Scene {
  QUIET("quiet"),
  AHEAD("ten load ahead of requests"),
  RUNS("ten load for runs that wait"),
  SERVICE("ten are put in service and load");

  private final String label;

  Scene(String label) {
    this.label = label;
  }

  /** For people. */
  String label() {
    return label;
  }
}
