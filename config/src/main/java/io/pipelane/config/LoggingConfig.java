package io.pipelane.config;

/** How log records are written. */
public record LoggingConfig(
    @Key(
            about = "Whether a record is a line to read, or a JSON object on a line",
            standard = "text")
        Format format) {

  /** How a record is written. */
  public enum Format {
    TEXT,
    JSON
  }
}
