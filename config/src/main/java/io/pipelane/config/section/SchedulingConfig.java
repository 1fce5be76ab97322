package io.pipelane.config.section;

import java.util.Locale;

/** The choice of which of the waiting requests runs next. */
public record SchedulingConfig(
    @Key(
            about =
                "Which request runs next: the one that is done soonest (srtf), the one with the"
                    + " nearest deadline (edf), one of the job or model that has used least (fair),"
                    + " the oldest that fits into memory beside what runs (pack), or the oldest"
                    + " (fifo)",
            standard = "srtf")
        Policy policy,
    @Key(
            about =
                "How much of the waiting time of a request, or of a job that has not begun, srtf"
                    + " takes off its remaining time, in percent; with 0 long ones may wait for"
                    + " ever",
            standard = "10",
            min = "0",
            max = "1000")
        int ageingPercent,
    @Key(
            about =
                "What fair shares out equally: time on the device (service), or memory held over"
                    + " time (memory)",
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
                "Least share of the device's time that offline requests get while some wait, in"
                    + " percent, at the expense of online requests; with 0 offline requests may"
                    + " wait for ever",
            standard = "0",
            min = "0",
            max = "90")
        int offlineSharePercent,
    @Key(
            about =
                "Whether a run gives way at its gates: an offline run to online requests, and"
                    + " under srtf any run to requests that are done sooner. On a GPU and in worker"
                    + " processes, an online run gives way only if it takes 5 ms or more",
            standard = "true")
        boolean preemption,
    @Key(
            about =
                "On the CPU, runs that usually take fewer microseconds than this run on the"
                    + " thread that brings the request, if nothing waits and residency.policy is"
                    + " not nothing-stays; with 0 all runs go to lanes",
            standard = "50",
            min = "0",
            max = "1000")
        int shortRunMicros,
    @Key(
            about =
                "Least number of inferences at a time when the server finds the number by trial,"
                    + " between this and device.lanes. It keeps one more or one fewer if that does"
                    + " more work in less time; 0 means no trial, always device.lanes",
            standard = "0",
            min = "0",
            max = "256")
        int leastLanes,
    @Key(
            about =
                "How often an online run may end at a gate and begin anew, under srtf, to make"
                    + " room for the weights of a request that is done sooner; with 0 such a"
                    + " request waits for the run's end",
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
