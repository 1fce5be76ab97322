package io.pipelane.config;

import java.util.Locale;

/** The choice of which of the waiting requests runs next. */
public record SchedulingConfig(
    @Key(
            about =
                "What runs next: the request that is done soonest (srtf), the one whose deadline is"
                    + " nearest (edf), one of the model that has used least (fair), the oldest that"
                    + " fits into memory beside what runs (pack), or the oldest (fifo)",
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
                "Of what fair gives every model the same: service is time on the device, memory is"
                    + " memory held over time",
            standard = "service")
        FairMeasure fairMeasure,
    @Key(
            about =
                "Whether fair lets others go ahead while the model whose turn it is waits for"
                    + " memory",
            standard = "true")
        boolean fairWorkConserving,
    @Key(
            about =
                "Of the device's time, what offline requests get at least while some wait, in"
                    + " percent, at the expense of online ones; with 0 they may wait for ever",
            standard = "0",
            min = "0",
            max = "90")
        int offlineSharePercent,
    @Key(
            about =
                "Whether a run on the processor gives way at its gates: to requests while it is"
                    + " offline work, and under srtf to those that are done sooner",
            standard = "true")
        boolean preemption,
    @Key(
            about =
                "Runs on the processor that usually take less than so many microseconds are made by"
                    + " the thread that brings the request, if nothing waits; 0 leaves all to lanes",
            standard = "50",
            min = "0",
            max = "1000")
        int shortRunMicros,
    @Key(
            about =
                "Inferences at a time are found by trial, no fewer than this and no more than"
                    + " device.lanes: one more or fewer stays where it does more work in less time;"
                    + " 0 leaves them at device.lanes",
            standard = "0",
            min = "0",
            max = "256")
        int leastLanes,
    @Key(
            about =
                "How often an online run ends at a gate, to begin anew, because a request that is"
                    + " done sooner finds no room for its weights beside the run's, under srtf; with"
                    + " 0 such a request waits for the run's end",
            standard = "0",
            min = "0",
            max = "16")
        int restarts) {

  /** The orders there are. */
  public enum Policy {
    SRTF,
    EDF,
    FAIR,
    PACK,
    FIFO;

    /** As it is written in a configuration. */
    @Override
    public String toString() {
      return name().toLowerCase(Locale.ROOT);
    }
  }

  /** The measure that fair sharing shares. */
  public enum FairMeasure {
    SERVICE,
    MEMORY;

    /** As it is written in a configuration. */
    @Override
    public String toString() {
      return name().toLowerCase(Locale.ROOT);
    }
  }
}
