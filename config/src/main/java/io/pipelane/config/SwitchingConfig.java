package io.pipelane.config;

/** How models are brought onto a device. */
public record SwitchingConfig(
    @Key(
            about =
                "What is moved by one copy: optimal goes by measured times, equal by bytes alone",
            standard = "optimal")
        Grouping grouping) {

  /** What decides which weights are moved by one copy. */
  public enum Grouping {
    OPTIMAL,
    EQUAL
  }
}
