package io.pipelane.config;

import java.time.Duration;
import java.util.Locale;

/** The choice of which of several devices answers a request. */
public record PlacementConfig(
    @Key(
            about =
                "Where a request goes: to the device with the least predicted time to its answer"
                    + " among those that have its model, to all in turns, or to the model's first"
                    + " device alone",
            standard = "predicted")
        Routing routing,
    @Key(
            about =
                "Whether models are kept on several devices where that saves more waiting than the"
                    + " memory would save others; with predicted routing",
            standard = "true")
        boolean replicas,
    @Key(
            about = "After this time, waiting that was or could be saved by a replica counts half",
            standard = "30s",
            min = "100ms",
            max = "24h")
        Duration replicaHalfLife,
    @Key(
            about =
                "Whether weights come out of another device's memory where they lie there already,"
                    + " and memory holds what other devices have no room for while that saves them"
                    + " more than it saves its own; where devices can read each other's memory",
            standard = "true")
        boolean peerMemory,
    @Key(
            about =
                "How many sessions of other devices' models, which variants share, stand ready on each"
                    + " device, of those asked for most, so that it answers for them soon when"
                    + " theirs is lost; they are built while the device has no online work and a"
                    + " quarter of its working memory stays free, on a GPU in each of its lanes while"
                    + " half of it does, run there as offline work, so that they are captured, and"
                    + " give way to whatever needs the memory; with 0 there are none. Where there are"
                    + " several devices",
            standard = "32",
            min = "0",
            max = "10000")
        int readySessions,
    @Key(
            about =
                "How often offline jobs are matched anew to the devices where they get most done"
                    + " beside online work, one job at most on each: 1s or more; with 0 their requests"
                    + " go where all others go. Where there are several devices",
            standard = "15m",
            min = "0ms",
            max = "24h")
        Duration offlineInterval) {
  /** Unless it is zero, the offline interval is no shorter. */
  public static final Duration LEAST_OFFLINE_INTERVAL = Duration.ofSeconds(1);

  /** The rule by which a request's device is chosen. */
  public enum Routing {
    PREDICTED,
    ROUND_ROBIN,
    STATIC;

    /** As it is written in a configuration. */
    @Override
    public String toString() {
      return name().toLowerCase(Locale.ROOT).replace('_', '-');
    }
  }
}
