package io.pipelane.modelstore.repository;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/**
 * The versions of a model that are served; as text {@code all}, {@code latest:2} or {@code 1,3}.
 */
public sealed interface ServedVersions {
  /** Those of the versions that are there, ascending. */
  List<Long> among(List<Long> there);

  /** All of them. */
  record All() implements ServedVersions {
    @Override
    public List<Long> among(List<Long> there) {
      return there.stream().sorted().toList();
    }

    @Override
    public String toString() {
      return "all";
    }
  }

  /** The highest ones. */
  record Latest(long number) implements ServedVersions {
    @Override
    public List<Long> among(List<Long> there) {
      return there.stream().sorted(Comparator.reverseOrder()).limit(number).sorted().toList();
    }

    @Override
    public String toString() {
      return "latest:" + number;
    }
  }

  /** Some, where they are there. */
  record Only(List<Long> versions) implements ServedVersions {
    public Only {
      versions = versions.stream().distinct().sorted().toList();
    }

    @Override
    public List<Long> among(List<Long> there) {
      return there.stream().filter(versions::contains).sorted().toList();
    }

    @Override
    public String toString() {
      return versions.stream().map(String::valueOf).collect(Collectors.joining(","));
    }
  }

  /**
   * Reads what {@code toString} writes.
   *
   * @throws StatusException {@link Status#INVALID_ARGUMENT} for anything else
   */
  static ServedVersions parse(String text) {
    Matcher latest = Pattern.compile("latest(?::([1-9][0-9]{0,8}))?").matcher(text);
    if (text.equals("all")) {
      return new All();
    }
    if (latest.matches()) {
      return new Latest(latest.group(1) == null ? 1 : Long.parseLong(latest.group(1)));
    }
    if (text.length() <= 4096 && text.matches("[1-9][0-9]{0,17}(,[1-9][0-9]{0,17})*")) {
      return new Only(Arrays.stream(text.split(",", -1)).map(Long::parseLong).toList());
    }
    throw new StatusException(
        Status.INVALID_ARGUMENT,
        "\"%s\" says no versions; write all, latest:2 or versions like 1,3"
            .formatted(text.length() > 64 ? text.substring(0, 64) + "..." : text));
  }
}
