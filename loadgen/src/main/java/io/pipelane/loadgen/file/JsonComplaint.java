package io.pipelane.loadgen.file;

import com.fasterxml.jackson.core.JsonProcessingException;

/** What is wrong with a text that should be JSON of some form, in one line. */
public final class JsonComplaint {
  private JsonComplaint() {}

  /** What a reader found, and where it did if it was no JSON at all. */
  public static String of(Exception found) {
    if (found instanceof JsonProcessingException malformed && malformed.getLocation() != null) {
      return "line %d, column %d: %s"
          .formatted(
              malformed.getLocation().getLineNr(),
              malformed.getLocation().getColumnNr(),
              malformed.getOriginalMessage().replaceAll(" \\(start marker at .*\\)$", ""));
    }
    return String.valueOf(found.getMessage());
  }
}
