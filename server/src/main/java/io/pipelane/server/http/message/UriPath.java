package io.pipelane.server.http.message;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.server.protocol.QuotedText;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;

/** The path of a request's target, taken apart before it is decoded. */
public final class UriPath {
  private static final int MAXIMUM_NAME_LENGTH = 255;
  private static final int MAXIMUM_QUOTED_LENGTH = 128;

  private UriPath() {}

  /** The path's segments as they were sent; empty for a target that is no absolute path. */
  public static List<String> segments(String target) {
    List<String> segments = new ArrayList<>(6);
    if (!target.startsWith("/")) {
      return segments;
    }
    int question = target.indexOf('?');
    int end = question < 0 ? target.length() : question;
    for (int start = 1; start <= end; ) {
      int slash = target.indexOf('/', start);
      int stop = slash < 0 || slash > end ? end : slash;
      segments.add(target.substring(start, stop));
      start = stop + 1;
    }
    return segments;
  }

  /**
   * The name that a segment encodes.
   *
   * @throws StatusException {@link Status#INVALID_ARGUMENT} for a bad escape, a name that is empty
   *     or too long, {@code .} or {@code ..}, and for slashes and control characters in it
   */
  public static String name(String segment) {
    String name = segment.indexOf('%') < 0 ? segment : decode(segment);
    if (name.isEmpty() || name.equals(".") || name.equals("..")) {
      throw refused(segment, "is empty or a relative path");
    }
    if (name.length() > MAXIMUM_NAME_LENGTH) {
      throw refused(segment, "has more than " + MAXIMUM_NAME_LENGTH + " characters");
    }
    for (int i = 0; i < name.length(); i++) {
      char c = name.charAt(i);
      if (c == '/' || c == '\\' || Character.isISOControl(c)) {
        throw refused(segment, "has a slash or a control character");
      }
    }
    return name;
  }

  public static String shorten(String target) {
    return QuotedText.shorten(target, MAXIMUM_QUOTED_LENGTH);
  }

  private static String decode(String segment) {
    ByteBuffer bytes = ByteBuffer.allocate(segment.length() * 3);
    for (int i = 0; i < segment.length(); i++) {
      char c = segment.charAt(i);
      if (c != '%') {
        bytes.put(String.valueOf(c).getBytes(StandardCharsets.UTF_8));
        continue;
      }
      if (i + 2 >= segment.length()) {
        throw refused(segment, "ends within a percent escape");
      }
      int high = Character.digit(segment.charAt(i + 1), 16);
      int low = Character.digit(segment.charAt(i + 2), 16);
      if (high < 0 || low < 0) {
        throw refused(segment, "has a percent sign without two hexadecimal digits");
      }
      bytes.put((byte) (high << 4 | low));
      i += 2;
    }
    try {
      return StandardCharsets.UTF_8.newDecoder().decode(bytes.flip()).toString();
    } catch (CharacterCodingException e) {
      throw refused(segment, "does not decode to UTF-8");
    }
  }

  private static StatusException refused(String segment, String reason) {
    return new StatusException(
        Status.INVALID_ARGUMENT, "the name \"" + shorten(segment) + "\" in the path " + reason);
  }
}
