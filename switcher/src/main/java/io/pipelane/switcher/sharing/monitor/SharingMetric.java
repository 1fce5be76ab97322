package io.pipelane.switcher.sharing.monitor;

/** A metric that a device's state is judged by, in percent. */
public enum SharingMetric {
  /** Of the time, that in which something ran. */
  UTILIZATION("utilization", false),
  /** Of the multiprocessors or cores, those that were busy. */
  ACTIVITY("activity", false),
  /** Of the highest clock; less is worse. */
  CLOCK("clock", true),
  /** Of the memory, what is taken. */
  MEMORY("memory", false),
  /** Of the time, that in which some task waited for memory. */
  MEMORY_PRESSURE("memory-pressure", false),
  /** Of the host's memory, what is taken. */
  HOST_MEMORY("host-memory", false),
  /** Of the online requests with an objective, those that met it; less is worse. */
  ATTAINMENT("attainment", true);

  private final String text;
  private final boolean inverted;

  SharingMetric(String text, boolean inverted) {
    this.text = text;
    this.inverted = inverted;
  }

  /** Whether a value is beyond a threshold, or on it. */
  boolean reaches(double value, double threshold) {
    return inverted ? value <= threshold : value >= threshold;
  }

  /** Whether memory that is given back makes it better. */
  boolean isMemory() {
    return switch (this) {
      case MEMORY, MEMORY_PRESSURE, HOST_MEMORY -> true;
      case UTILIZATION, ACTIVITY, CLOCK, ATTAINMENT -> false;
    };
  }

  /** As configuration, metrics and log name it. */
  public String text() {
    return text;
  }
}
