package io.pipelane.loadgen.measure;

import com.google.errorprone.annotations.FormatMethod;
import io.pipelane.loadgen.result.ClientCpu;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/**
 * Says whether a measurement shows the server, or rather the generator.
 *
 * @param bottlenecks reasons to throw the figures away
 * @param warnings what they have to be read with
 */
record Verdict(List<String> bottlenecks, List<String> warnings) {
  private static final double TOLERATED_SHARE = 0.01;
  private static final double BUSY_SHARE = 0.9;
  private static final double LAG_SHARE = 0.25;
  private static final long NEGLIGIBLE_LAG_NANOS = 100_000;

  static Verdict of(WindowTally window, long windowNanos, ClientCpu cpu, long errorsOutside) {
    List<String> bottlenecks = new ArrayList<>();
    if (window.lateByGenerator > window.sent * TOLERATED_SHARE) {
      bottlenecks.add(
          text(
              "%d of %d requests left over 1 ms late although a connection was free",
              window.lateByGenerator, window.sent));
    }
    if (cpu.loadThread().toNanos() > windowNanos * BUSY_SHARE) {
      bottlenecks.add(
          text(
              "its thread was busy %.0f %% of the time",
              100.0 * cpu.loadThread().toNanos() / windowNanos));
    }
    if (window.pauses.total().toNanos() > windowNanos * TOLERATED_SHARE) {
      bottlenecks.add(
          text(
              "it stood still %d times, %.1f ms in all, %.1f ms at a time",
              window.pauses.count(),
              window.pauses.total().toNanos() / 1e6,
              window.pauses.longest().toNanos() / 1e6));
    }
    List<String> warnings = new ArrayList<>();
    lagWarning(window, warnings);
    long waited = window.late - window.lateByGenerator;
    if (waited > window.sent * TOLERATED_SHARE) {
      warnings.add(
          text(
              "%d of %d requests waited over 1 ms for a free connection; response times include"
                  + " it, service times do not",
              waited, window.sent));
    }
    if (errorsOutside > 0) {
      warnings.add(errorsOutside + " errors outside the measured window are not counted");
    }
    return new Verdict(List.copyOf(bottlenecks), List.copyOf(warnings));
  }

  private static void lagWarning(WindowTally window, List<String> warnings) {
    long lag = window.lagNanos.getValueAtPercentile(99);
    long response = window.completedNanos.getValueAtPercentile(99);
    if (lag > NEGLIGIBLE_LAG_NANOS && lag > response * LAG_SHARE) {
      warnings.add(
          text(
              "the generator's own lag is a good part of the latency: p99 %.3f ms of %.3f ms",
              lag / 1e6, response / 1e6));
    }
  }

  @FormatMethod
  private static String text(String format, Object... values) {
    return String.format(Locale.ROOT, format, values);
  }
}
