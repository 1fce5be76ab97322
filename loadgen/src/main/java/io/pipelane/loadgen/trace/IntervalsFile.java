package io.pipelane.loadgen.trace;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.loadgen.file.FilesRead;
import io.pipelane.loadgen.settings.ArrivalPattern;
import java.io.BufferedReader;
import java.io.IOException;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

/** Intervals between requests as perf_analyzer lists them: a line for each, in microseconds. */
public final class IntervalsFile {
  private static final long MAXIMUM_MICROS = 3_600_000_000L;

  private IntervalsFile() {}

  /**
   * Reads intervals; empty lines are passed over.
   *
   * @param read is told of the file
   * @throws StatusException {@link Status#INVALID_ARGUMENT} when the file cannot be read, or holds
   *     something else; the message has the line's number
   */
  public static List<Duration> read(Path file, FilesRead read) {
    List<Duration> intervals = new ArrayList<>();
    try (BufferedReader lines = read.open(file)) {
      int number = 0;
      for (String line = lines.readLine(); line != null; line = lines.readLine()) {
        number++;
        if (!line.isBlank()) {
          intervals.add(parse(file, number, line.strip()));
        }
        if (intervals.size() > ArrivalPattern.Listed.MAXIMUM_INTERVALS) {
          throw wrong(
              file + " holds more than " + ArrivalPattern.Listed.MAXIMUM_INTERVALS + " intervals");
        }
      }
    } catch (NoSuchFileException e) {
      throw wrong("there is no file " + file);
    } catch (IOException e) {
      throw wrong("cannot read " + file + ": " + e);
    }
    if (intervals.isEmpty()) {
      throw wrong(file + " holds no interval; write microseconds, one number a line");
    }
    requireRate(file, intervals);
    return intervals;
  }

  /** Some interval has to last, however short most are. */
  private static void requireRate(Path file, List<Duration> intervals) {
    try {
      Object _ = new ArrivalPattern.Listed(intervals);
    } catch (IllegalArgumentException e) {
      throw wrong(file + " holds intervals that are too short: " + e.getMessage());
    }
  }

  private static Duration parse(Path file, int number, String line) {
    try {
      long micros = Long.parseLong(line);
      if (micros >= 0 && micros <= MAXIMUM_MICROS) {
        return Duration.ofNanos(1_000 * micros);
      }
    } catch (NumberFormatException e) {
      // said below
    }
    throw wrong(
        "%s, line %d: \"%s\" is no interval, a whole number of microseconds up to an hour"
            .formatted(file, number, line));
  }

  private static StatusException wrong(String message) {
    return new StatusException(Status.INVALID_ARGUMENT, "--request-intervals: " + message);
  }
}
