package io.pipelane.config;

/** How log records are written. */
public record LoggingConfig(
    @Key(
            about =
                "How a log record is written: a line of text to read (text), or one JSON object"
                    + " per line (json)",
            standard = "text")
        Format format) {

  /** How a record is written. */
  public enum Format {
    TEXT,
    JSON
  }
}
