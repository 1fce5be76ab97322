package io.pipelane.loadgen.report;

import io.pipelane.loadgen.experiment.Experiment;
import io.pipelane.loadgen.result.Slice;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import org.HdrHistogram.HistogramLogWriter;

/** The course of the last run of an experiment's last load, as HdrHistogram's log. */
public final class IntervalFile {
  private static final double NANOS_PER_MILLISECOND = 1e6;

  private IntervalFile() {}

  /**
   * Writes response times by the time that requests were meant to leave, a line for each stretch of
   * time; maxima are in milliseconds, what is encoded in nanoseconds.
   *
   * @param started to which the log's times are relative, as nearly as a log needs it
   */
  public static void write(Path file, Instant started, Experiment experiment) throws IOException {
    try (PrintStream out =
        new PrintStream(Files.newOutputStream(file), false, StandardCharsets.UTF_8)) {
      HistogramLogWriter log = new HistogramLogWriter(out);
      log.outputLogFormatVersion();
      log.outputStartTime(started.toEpochMilli());
      log.outputLegend();
      for (Slice slice : experiment.steps().getLast().runs().getLast().report().slices()) {
        double start = slice.start().toNanos() / 1e9;
        double end = start + slice.length().toNanos() / 1e9;
        log.outputIntervalHistogram(start, end, slice.responseNanos(), NANOS_PER_MILLISECOND);
      }
      if (out.checkError()) {
        throw new IOException("cannot write " + file);
      }
    }
  }
}
