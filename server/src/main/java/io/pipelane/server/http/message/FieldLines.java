package io.pipelane.server.http.message;

import io.netty.handler.codec.http.HttpHeaders;
import java.util.Iterator;
import org.jspecify.annotations.Nullable;

/** The lines of one field of a head, which are one list (RFC 9110, section 5.3). */
final class FieldLines {
  private FieldLines() {}

  /** The values of all of them with commas between them; null where there is none. */
  static @Nullable String joined(HttpHeaders headers, CharSequence name) {
    if (!headers.contains(name)) {
      return null;
    }
    Iterator<String> lines = headers.valueStringIterator(name);
    String only = lines.next();
    return lines.hasNext() ? String.join(", ", headers.getAll(name)) : only;
  }
}
