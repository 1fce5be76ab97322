package io.pipelane.server.shared;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import java.util.regex.Pattern;

/**
 * A stretch of POSIX shared memory and the name that requests call it by.
 *
 * @param key what {@code shm_open} knows it by
 */
public record RegionSpec(String name, String key, long offset, long byteSize) {
  private static final int LONGEST_NAME = 128;
  private static final Pattern KEY = Pattern.compile("/?[A-Za-z0-9_][A-Za-z0-9._-]{0,250}");

  /**
   * @throws StatusException {@link Status#INVALID_ARGUMENT} for what cannot be one, a path above
   *     all
   */
  public RegionSpec {
    if (name.isEmpty() || name.length() > LONGEST_NAME) {
      throw invalid("the region's name must have 1 to " + LONGEST_NAME + " characters");
    }
    if (key.isEmpty()) {
      throw invalid("key is missing: the name of the POSIX shared memory, such as \"/inputs\"");
    }
    if (!KEY.matcher(key).matches()) {
      throw invalid(
          "key \"%.64s\" is no name of POSIX shared memory that is served: letters, digits, . _ -,"
                  .formatted(key)
              + " after one / or none, and no path");
    }
    if (offset < 0 || byteSize < 1 || offset > Long.MAX_VALUE - byteSize) {
      throw invalid(
          "offset %d must be 0 or more, byte_size %d 1 or more".formatted(offset, byteSize));
    }
  }

  /** The key as a file's name. */
  String fileName() {
    return key.startsWith("/") ? key.substring(1) : key;
  }

  static StatusException invalid(String message) {
    return new StatusException(Status.INVALID_ARGUMENT, message);
  }
}
