package io.pipelane.config;

/** How models are brought onto a device. */
public record SwitchingConfig(
    @Key(
            about =
                "What is moved by one copy: optimal goes by measured times, equal by bytes alone;"
                    + " segment is every segment by itself, whole all that is missing",
            standard = "optimal")
        Grouping grouping,
    @Key(
            about =
                "Whether embedding tables are read where they lie in host memory instead of being"
                    + " copied, by a GPU over its link; read when models are imported",
            standard = "true")
        boolean readInPlace,
    @Key(
            about =
                "Whether models that differ in their weights alone share sessions and addresses",
            standard = "true")
        boolean shareStructures,
    @Key(
            about =
                "Whether weights for one of several devices come in over the others' links too,"
                    + " while those are idle",
            standard = "true")
        boolean borrowLinks) {

  /** What decides which weights are moved by one copy. */
  public enum Grouping {
    OPTIMAL,
    EQUAL,
    SEGMENT,
    WHOLE
  }
}
