package io.pipelane.server.observability;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.server.access.WatchedFile;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.Supplier;

/**
 * Headers that are sent to the collector of spans, from a file that has {@code name: value} on each
 * line; empty lines and those that begin with # say nothing. The file is read again when it
 * changes. What is said of it repeats no value.
 */
final class CollectorHeaders implements Supplier<Map<String, String>> {
  private static final int MAXIMUM_BYTES = 64 << 10;
  private static final String NAME = "[A-Za-z0-9!#$%&'*+.^_`|~-]+";
  private static final String VALUE = "[\\x21-\\x7e]([\\t\\x20-\\x7e]*[\\x21-\\x7e])?";

  /** What says how the spans are sent, and so is not the owner's to choose. */
  private static final Set<String> OF_THE_SENDER =
      Set.of(
          "connection",
          "content-encoding",
          "content-length",
          "content-type",
          "expect",
          "host",
          "transfer-encoding",
          "upgrade");

  private final WatchedFile<Map<String, String>> file;

  private CollectorHeaders(WatchedFile<Map<String, String>> file) {
    this.file = file;
  }

  /**
   * Reads a file.
   *
   * @throws StatusException {@link Status#INVALID_ARGUMENT} naming the line that is wrong
   */
  static CollectorHeaders in(Path path) {
    WatchedFile<Map<String, String>> file =
        new WatchedFile<>("headers for the collector of spans", path, _ -> read(path));
    file.look();
    if (file.value() == null) {
      throw refused(path, "is not there, or may not be read");
    }
    return new CollectorHeaders(file);
  }

  /** Those of now; called by the thread that sends. */
  @Override
  public Map<String, String> get() {
    file.lookAgain();
    Map<String, String> headers = file.value();
    return headers == null ? Map.of() : headers;
  }

  private static Map<String, String> read(Path path) {
    String text;
    try {
      if (Files.size(path) > MAXIMUM_BYTES) {
        throw refused(path, "has more than " + MAXIMUM_BYTES + " bytes");
      }
      text = Files.readString(path, StandardCharsets.ISO_8859_1);
    } catch (IOException e) {
      throw refused(path, "cannot be read: " + e.getClass().getSimpleName());
    }
    Map<String, String> headers = new TreeMap<>();
    int number = 0;
    for (String line : text.lines().toList()) {
      number++;
      if (!line.isBlank() && !line.startsWith("#")) {
        int colon = line.indexOf(':');
        String name = line.substring(0, Math.max(0, colon)).strip().toLowerCase(Locale.ROOT);
        String value = line.substring(colon + 1).strip();
        if (!name.matches(NAME) || !value.matches(VALUE)) {
          throw refused(path, "line " + number + " is not a header, written name: value");
        }
        if (OF_THE_SENDER.contains(name)) {
          throw refused(
              path, "line " + number + " sets " + name + ", which follows from the spans");
        }
        if (headers.put(name, value) != null) {
          throw refused(path, "line " + number + " sets " + name + " a second time");
        }
      }
    }
    return Map.copyOf(headers);
  }

  private static StatusException refused(Path path, String reason) {
    return new StatusException(Status.INVALID_ARGUMENT, "tracing.headers: " + path + " " + reason);
  }
}
