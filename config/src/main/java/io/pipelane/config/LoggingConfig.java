package io.pipelane.config;

/** The form of log records. */
public record LoggingConfig(
    @Key(
            about = "Whether a record is a line to read, or a JSON object on a line",
            standard = "text")
        Format format) {

  /** The form of a log record. */
  public enum Format {
    TEXT,
    JSON
  }
}
