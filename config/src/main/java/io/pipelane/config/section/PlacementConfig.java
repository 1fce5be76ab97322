package io.pipelane.config.section;

import java.time.Duration;
import java.util.Locale;

/** The choice of which of several devices answers a request. */
public record PlacementConfig(
    @Key(
            about =
                "Where a request goes, with several devices: to the device of its model that is"
                    + " predicted to answer first (predicted), to these devices in turn"
                    + " (round-robin), or only to the model's first device (static)",
            standard = "predicted")
        Routing routing,
    @Key(
            about =
                "Whether a model is kept on several devices if that saves more waiting than the"
                    + " memory would save other models. It needs placement.routing predicted",
            standard = "true")
        boolean replicas,
    @Key(
            about =
                "Time after which waiting that a replica saved, or could have saved, counts half",
            standard = "30s",
            min = "100ms",
            max = "24h")
        Duration replicaHalfLife,
    @Key(
            about =
                "Whether weights may come from the memory of another device, and whether devices"
                    + " hold weights there that others have no room for, while that saves them more"
                    + " waiting than it costs the device's own models. It needs devices that can"
                    + " read each other's memory",
            standard = "true")
        boolean peerMemory,
    @Key(
            about =
                "With several devices, how many sessions of other devices' models stand ready on"
                    + " each device, for when such a device is lost. They are sessions that"
                    + " variants share, of the models that are asked for most. They are built while"
                    + " the device has no online work and a quarter of its working memory stays"
                    + " free; on a GPU they are built in each lane while half stays free, and run"
                    + " there as offline work so that they are captured. They give way to whatever"
                    + " needs the memory; 0 means none",
            standard = "32",
            min = "0",
            max = "10000")
        int readySessions,
    @Key(
            about =
                "With several devices, how often offline jobs are matched anew to devices, so"
                    + " that most work gets done beside online work, with one job at most on each"
                    + " device. 1s or more; with 0 their requests go where all other requests go",
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
