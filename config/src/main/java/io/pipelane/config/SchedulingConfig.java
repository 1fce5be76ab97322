package io.pipelane.config;

import java.util.Locale;

/** Which of the waiting requests runs next. */
public record SchedulingConfig(
    @Key(
            about =
                "What runs next: the request that is done soonest (srtf), the one whose deadline is"
                    + " nearest (edf), one of the model that was served least (fair), or the oldest"
                    + " (fifo)",
            standard = "srtf")
        Policy policy,
    @Key(
            about =
                "How much of the time a request has waited srtf takes off its remaining time, in"
                    + " percent; with 0 long requests may wait for ever",
            standard = "10",
            min = "0",
            max = "1000")
        int ageingPercent,
    @Key(
            about =
                "Whether a run on the processor gives way at its gates: to requests while it is"
                    + " offline work, and under srtf to those that are done sooner",
            standard = "true")
        boolean preemption) {

  /** The orders there are. */
  public enum Policy {
    SRTF,
    EDF,
    FAIR,
    FIFO;

    /** As it is written in a configuration. */
    @Override
    public String toString() {
      return name().toLowerCase(Locale.ROOT);
    }
  }
}
