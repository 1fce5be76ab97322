package io.pipelane.config;

/** The way in which models are brought onto a device. */
public record SwitchingConfig(
    @Key(
            about =
                "What is moved by one copy: optimal goes by measured times, equal by bytes alone;"
                    + " segment is every segment by itself, whole all that is missing",
            standard = "optimal")
        Grouping grouping,
    @Key(
            about =
                "Who reads embedding tables where they lie in host memory instead of copying them:"
                    + " processors, GPUs too, or nobody; on a GPU they stay pinned in the host tier"
                    + " and variants have captures of their own. Read when models are imported",
            standard = "processor")
        ReadInPlace readInPlace,
    @Key(
            about =
                "Whether models that differ in their weights alone share sessions and addresses, which"
                    + " they then take turns in; auto has those on a GPU have their own as long as"
                    + " all sessions would leave half of device.working-memory",
            standard = "auto")
        ShareStructures shareStructures,
    @Key(
            about =
                "Whether weights for one of several devices come in over the others' links too,"
                    + " while those are idle",
            standard = "true")
        boolean borrowLinks,
    @Key(
            about =
                "Whether the processor maps weights that it has copied once out of the page cache,"
                    + " instead of copying them again; they take device.memory all the same. Not"
                    + " where link.bandwidth is set, nor in worker processes. For local disks and memory to"
                    + " spare: what is mapped may be dropped by the system and read again",
            standard = "false")
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
