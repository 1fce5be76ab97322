package io.pipelane.loadgen.measure;

import com.google.errorprone.annotations.FormatMethod;
import io.pipelane.loadgen.result.ClientCpu;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import org.HdrHistogram.Histogram;

/**
 * The verdict whether a measurement shows the server, or rather the generator.
 *
 * @param bottlenecks reasons to throw the figures away
 * @param warnings what they have to be read with
 */
record Verdict(List<String> bottlenecks, List<String> warnings) {
  /*
   * Lateness of the generator's own spoils a figure when it is a good part of it. It does no harm
   * when it is small against what was measured, as on a machine that it shares with the server. It
   * is looked at twice: when requests left, and by a timer, which sees also what delays answers in
   * a closed loop.
   */
  private static final double TOLERATED_SHARE = 0.01;
  private static final int TOLERATED_TIMES = 3;
  private static final double BUSY_SHARE = 0.9;
  private static final double SPOILING_SHARE = 0.25;
  private static final long NEGLIGIBLE_LAG_NANOS = 100_000;

  static Verdict of(WindowTally window, long windowNanos, ClientCpu cpu, long errorsOutside) {
    List<String> bottlenecks = new ArrayList<>();
    List<String> warnings = new ArrayList<>();
    double busy = (double) cpu.loadThread().toNanos() / Math.max(1, windowNanos);
    if (busy > BUSY_SHARE) {
      bottlenecks.add(text("its thread was busy %.0f %% of the time", 100 * busy));
    }
    judgeLag(window, bottlenecks, warnings);
    judgePauses(window, bottlenecks);
    if (window.sent == 0 && window.unsent == 0 && window.failedConnects == 0) {
      warnings.add(
          text(
              "no request left within the measured %.3f s, so nothing was measured; measure for"
                  + " longer (--duration), or ask more often",
              windowNanos / 1e9));
    }
    long waited = window.late - window.lateByGenerator;
    if (isOften(waited, window.sent)) {
      warnings.add(
          text(
              "%d of %d requests waited over 1 ms for a free connection; response times include"
                  + " it, service times do not",
              waited, window.sent));
    }
    if (window.failedConnects > 0) {
      warnings.add(
          text(
              "%d attempts to connect failed, the first: %s; requests waited for a connection",
              window.failedConnects, window.connectFailure));
    }
    if (errorsOutside > 0) {
      warnings.add(errorsOutside + " errors outside the measured window are not counted");
    }
    return new Verdict(List.copyOf(bottlenecks), List.copyOf(warnings));
  }

  private static void judgeLag(
      WindowTally window, List<String> bottlenecks, List<String> warnings) {
    boolean isOften = isOften(window.lateByGenerator, window.sent);
    boolean isSpoiling = spoils(window, window.lagNanos, 50) || spoils(window, window.lagNanos, 99);
    String late =
        text(
            "%d of %d requests left over 1 ms late although a connection was free",
            window.lateByGenerator, window.sent);
    String lag =
        text(
            "its own lag at p99 is %.3f ms of %.3f ms",
            window.lagNanos.getValueAtPercentile(99) / 1e6,
            window.completedNanos.getValueAtPercentile(99) / 1e6);
    if (isOften && isSpoiling) {
      bottlenecks.add(late + "; " + lag);
    } else if (isOften) {
      warnings.add("the generator was not punctual: " + late + ", little against the latency");
    } else if (isSpoiling) {
      warnings.add("the generator adds to the latency: " + lag);
    }
  }

  private static void judgePauses(WindowTally window, List<String> bottlenecks) {
    long delay = window.delayNanos.getValueAtPercentile(99);
    if (window.pauses > TOLERATED_TIMES
        && delay > Recorder.LATE_NANOS
        && spoils(window, window.delayNanos, 99)) {
      bottlenecks.add(
          text(
              "it stood still %d times, %.1f ms in all; one event in a hundred was delayed by"
                  + " %.1f ms or more",
              window.pauses, window.pausedNanos / 1e6, delay / 1e6));
    }
  }

  private static boolean isOften(long times, long of) {
    return times > TOLERATED_TIMES && times > of * TOLERATED_SHARE;
  }

  /**
   * Whether lateness is a good part of the response time at a percentile; never without answers.
   */
  private static boolean spoils(WindowTally window, Histogram lateNanos, double percentile) {
    if (window.completedNanos.getTotalCount() == 0) {
      return false;
    }
    long late = lateNanos.getValueAtPercentile(percentile);
    long response = window.completedNanos.getValueAtPercentile(percentile);
    return late > NEGLIGIBLE_LAG_NANOS && late > response * SPOILING_SHARE;
  }

  @FormatMethod
  private static String text(String format, Object... values) {
    return String.format(Locale.ROOT, format, values);
  }
}
