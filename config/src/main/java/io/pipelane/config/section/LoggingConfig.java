package io.pipelane.config.section;

/** The form of log records. */
public record LoggingConfig(
    @Key(
            about =
                "How a log record is written: a line of text to read (text), or one JSON object"
                    + " per line (json)",
            standard = "text")
        Format format) {

  /** The form of a log record. */
  public enum Format {
    TEXT,
    JSON
  }
}
