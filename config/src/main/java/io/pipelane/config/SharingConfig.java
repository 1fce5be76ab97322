package io.pipelane.config;

import java.time.Duration;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.stream.Stream;

/** The sharing of a device by online and offline work. */
public record SharingConfig(
    @Key(
            about =
                "How online work is protected: with gates, offline work waits at its next gate while"
                    + " online work is in flight or expected, and stops on a device that is"
                    + " overloaded; with none, only its requests wait behind others",
            standard = "gates")
        Protection protection,
    @Key(
            about =
                "Of device.memory, what offline runs may hold together, and of device.working-memory,"
                    + " their lanes and the state of offline sequences, in percent; what is larger is"
                    + " refused offline",
            standard = "40",
            min = "1",
            max = "100")
        int offlineMemoryPercent,
    @Key(
            about =
                "How much less urgent the threads of jobs, and a worker process of offline work, are to"
                    + " the processor than others, as the nice value of Linux has it",
            standard = "10",
            min = "0",
            max = "19")
        int offlineNice,
    @Key(
            about =
                "Processors that the threads of jobs keep to, and a worker process of offline work, as"
                    + " Linux numbers them; those that a process may not use are left out",
            unset = "all")
        Optional<ProcessorList> offlineProcessors,
    @Key(
            about =
                "Whether offline work may run while online work does, on some of a GPU's"
                    + " multiprocessors: measured, where that is seen to pay; always; or off",
            standard = "off")
        Multiprocessors multiprocessors,
    @Key(
            about = "How many of a GPU's multiprocessors these are, in percent",
            standard = "10",
            min = "1",
            max = "100")
        int multiprocessorsPercent,
    @Key(
            about =
                "Other sizes, in percent: measured chooses the largest that online work bears at its"
                    + " load, these and the one above; each has sessions of its own",
            standard = "5")
        Percentages otherMultiprocessorsPercent,
    @Key(about = "How often devices are looked at", standard = "100ms", min = "2ms", max = "10s")
        Duration period,
    @Key(
            about =
                "Load above which offline work is slowed down, in percent; a clock below the"
                    + " threshold counts as more load",
            standard = "100",
            min = "10",
            max = "100")
        int targetLoadPercent,
    @Key(
            about = "Of a device's highest clock, what online work alone has, in percent",
            standard = "80",
            min = "10",
            max = "99")
        int clockThresholdPercent,
    @Key(
            about = "Time that an overloaded device takes no offline work, doubled by each entry",
            standard = "1s",
            min = "10ms",
            max = "1h")
        Duration overlimitPeriod,
    @Key(
            about =
                "Of the time, that in which a device runs something, where offline work comes, where"
                    + " it comes no more, and where it stops",
            standard = "off")
        Thresholds utilization,
    @Key(about = "The same of a device's multiprocessors or cores", standard = "off")
        Thresholds activity,
    @Key(
            about = "The same of its clock while it is busy, of the highest; it falls",
            standard = "60/50/40")
        Thresholds clock,
    @Key(
            about =
                "The same of the device's memory; of a GPU's, beside what the server took for"
                    + " weights at its start",
            standard = "95/97/99")
        Thresholds memory,
    @Key(
            about = "The same of the time in which some task of the host waits for memory",
            standard = "5/10/40")
        Thresholds memoryPressure,
    @Key(
            about =
                "The same of the host's memory, or of the limit of a control group that the server"
                    + " is in; what merely caches files is not taken",
            standard = "95/97/99")
        Thresholds hostMemory,
    @Key(
            about =
                "The same of the online requests of the last seconds that had an objective and met"
                    + " it; it falls",
            standard = "98/95/80")
        Thresholds attainment) {

  /** Whether offline work may ever have some multiprocessors to itself. */
  public boolean hasShare() {
    return multiprocessors != Multiprocessors.OFF;
  }

  /** How many of the multiprocessors, in percent, that may be; ascending. */
  public List<Integer> shareSizes() {
    return switch (multiprocessors) {
      case OFF -> List.of();
      case ALWAYS -> List.of(multiprocessorsPercent);
      case MEASURED ->
          Stream.concat(
                  Stream.of(multiprocessorsPercent), otherMultiprocessorsPercent.values().stream())
              .distinct()
              .sorted()
              .toList();
    };
  }

  /** The condition on which offline work may run on some multiprocessors beside online work. */
  public enum Multiprocessors {
    OFF,
    MEASURED,
    ALWAYS;

    /** As it is written in a configuration. */
    @Override
    public String toString() {
      return name().toLowerCase(Locale.ROOT);
    }
  }

  /** The protection of online work from being slowed down by offline work. */
  public enum Protection {
    GATES,
    NONE;

    /** As it is written in a configuration. */
    @Override
    public String toString() {
      return name().toLowerCase(Locale.ROOT);
    }
  }
}
