package io.pipelane.config.section;

/** The way in which models are brought onto a device. */
public record SwitchingConfig(
    @Key(
            about =
                "Which weights one copy moves: optimal decides by measured times, equal makes"
                    + " parts of equal bytes, segment moves each segment by itself, whole moves all"
                    + " that is missing",
            standard = "optimal")
        Grouping grouping,
    @Key(
            about =
                "Who reads embedding tables where they lie in host memory, instead of copying"
                    + " them: processor, GPUs as well (all), or nobody (none). On a GPU the tables"
                    + " stay pinned in the host tier, and each variant has captures of its own."
                    + " If residency.idle-prefetch is true, the table of a model that is asked for"
                    + " very often is also copied to the GPU while memory is free. Takes effect"
                    + " when a model is imported",
            standard = "processor")
        ReadInPlace readInPlace,
    @Key(
            about =
                "Whether models that differ only in their weights share sessions and addresses,"
                    + " in which they then take turns. With auto, such models on a GPU have their"
                    + " own as long as all sessions leave half of device.working-memory free",
            standard = "auto")
        ShareStructures shareStructures,
    @Key(
            about =
                "Whether, with several devices, weights for one device also come in over the"
                    + " links of the others while those are idle",
            standard = "true")
        boolean borrowLinks,
    @Key(
            about =
                "Whether the CPU, when it needs weights again that it has copied twice, maps them"
                    + " from the page cache instead of copying them. They take device.memory all"
                    + " the same. What stays is copied later, at the earliest after a second or"
                    + " two, while nothing else is wanted: until then the system may drop it and"
                    + " read it again. It has no effect with link.bandwidth, with"
                    + " residency.prefetch: false or in worker processes",
            standard = "true")
        boolean mapWeights) {

  /** The models that differ in their weights alone and share sessions and addresses. */
  public enum ShareStructures {
    AUTO,
    ALWAYS,
    NEVER
  }

  /** The devices that read tables in host memory. */
  public enum ReadInPlace {
    PROCESSOR,
    ALL,
    NONE;

    public boolean byProcessors() {
      return this != NONE;
    }

    public boolean byGpus() {
      return this == ALL;
    }
  }

  /** The choice of which weights are moved by one copy. */
  public enum Grouping {
    OPTIMAL,
    EQUAL,
    SEGMENT,
    WHOLE
  }
}
