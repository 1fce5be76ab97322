package io.pipelane.config.section;

import io.pipelane.config.value.Percentages;
import io.pipelane.config.value.ProcessorList;
import io.pipelane.config.value.Thresholds;
import java.time.Duration;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.stream.Stream;

/** The sharing of a device by online and offline work. */
public record SharingConfig(
    @Key(
            about =
                "How online work is protected. With gates, offline work waits at its next gate"
                    + " while online work is in flight or expected, and stops on an overloaded"
                    + " device. With none, offline requests only wait behind others",
            standard = "gates")
        Protection protection,
    @Key(
            about =
                "How much offline work may hold of device.memory, and how much of"
                    + " device.working-memory its lanes and the state of its sequences may take, in"
                    + " percent. Larger offline work is refused",
            standard = "40",
            min = "1",
            max = "100")
        int offlineMemoryPercent,
    @Key(
            about =
                "Nice value (Linux) of the threads of jobs and of a worker process for offline"
                    + " work; a higher value is less urgent",
            standard = "10",
            min = "0",
            max = "19")
        int offlineNice,
    @Key(
            about =
                "Processors, as Linux numbers them, that the threads of jobs and a worker process"
                    + " for offline work keep to. Processors that the process may not use are left"
                    + " out",
            unset = "all")
        Optional<ProcessorList> offlineProcessors,
    @Key(
            about =
                "Whether offline work may run at the same time as online work, on a part of a"
                    + " GPU's multiprocessors: only where measurements show that it pays"
                    + " (measured), always, or never (off)",
            standard = "off")
        Multiprocessors multiprocessors,
    @Key(
            about =
                "The part of a GPU's multiprocessors for offline work beside online work, in"
                    + " percent; see sharing.multiprocessors",
            standard = "10",
            min = "1",
            max = "100")
        int multiprocessorsPercent,
    @Key(
            about =
                "Other sizes of the part of a GPU's multiprocessors for offline work, in percent."
                    + " With sharing.multiprocessors measured, the server chooses the largest that"
                    + " online work bears at its load, of these and"
                    + " sharing.multiprocessors-percent. Each size has sessions of its own",
            standard = "5")
        Percentages otherMultiprocessorsPercent,
    @Key(
            about = "How often the server looks at its devices",
            standard = "100ms",
            min = "2ms",
            max = "10s")
        Duration period,
    @Key(
            about =
                "Load of the device above which offline work is slowed down, in percent. A clock"
                    + " below sharing.clock-threshold-percent counts as more load",
            standard = "100",
            min = "10",
            max = "100")
        int targetLoadPercent,
    @Key(
            about =
                "Clock of the device that online work alone has, in percent of its highest clock."
                    + " A lower clock counts as more load",
            standard = "80",
            min = "10",
            max = "99")
        int clockThresholdPercent,
    @Key(
            about =
                "Least time that an overloaded device runs no offline work. It doubles with each"
                    + " overload within two hours",
            standard = "1s",
            min = "10ms",
            max = "1h")
        Duration overlimitPeriod,
    @Key(
            about =
                "How much of the time the device is busy, in percent. Three limits, such as"
                    + " 90/95/98: better than the first is good; from the second on no new offline"
                    + " work starts; from the third on running offline work stops",
            standard = "off")
        Thresholds utilization,
    @Key(
            about =
                "How busy the device's multiprocessors or cores are, in percent. Three limits,"
                    + " such as 90/95/98: better than the first is good; from the second on no new"
                    + " offline work starts; from the third on running offline work stops",
            standard = "off")
        Thresholds activity,
    @Key(
            about =
                "The clock of a busy device, in percent of its highest clock. Three falling"
                    + " limits, such as 60/50/40: better than the first is good; from the second on"
                    + " no new offline work starts; from the third on running offline work stops",
            standard = "60/50/40")
        Thresholds clock,
    @Key(
            about =
                "Device memory in use, in percent. On a GPU, memory that the server took for"
                    + " weights at its start does not count. Three limits, such as 90/95/98: better"
                    + " than the first is good; from the second on no new offline work starts; from"
                    + " the third on running offline work stops",
            standard = "95/97/99")
        Thresholds memory,
    @Key(
            about =
                "How much of the time some task of the host waited for memory, in percent. Three"
                    + " limits, such as 5/10/40: better than the first is good; from the second on"
                    + " no new offline work starts; from the third on running offline work stops",
            standard = "5/10/40")
        Thresholds memoryPressure,
    @Key(
            about =
                "Host memory in use, in percent of the machine's memory or of the server's"
                    + " control group limit, whichever is fuller. Cached files do not count. Three"
                    + " limits, such as 90/95/98: better than the first is good; from the second on"
                    + " no new offline work starts; from the third on running offline work stops",
            standard = "95/97/99")
        Thresholds hostMemory,
    @Key(
            about =
                "The share of recent online requests with an objective that met it, in percent."
                    + " Three falling limits, such as 98/95/80: better than the first is good; from"
                    + " the second on no new offline work starts; from the third on running offline"
                    + " work stops",
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
