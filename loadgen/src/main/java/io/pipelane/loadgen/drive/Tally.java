package io.pipelane.loadgen.drive;

import io.pipelane.loadgen.result.ErrorCount;
import io.pipelane.loadgen.result.ModelReport;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.HdrHistogram.Histogram;

/** Adds up what is measured of one model. One thread at a time. */
final class Tally {
  private static final long RESOLUTION_NANOS = 100;
  private static final long MAXIMUM_NANOS = Duration.ofHours(1).toNanos();
  private static final int SIGNIFICANT_DIGITS = 3;
  private static final int MAXIMUM_KINDS = 32;
  private static final String OTHER = "other";

  private final Histogram responseNanos = histogram();
  private final Histogram serviceNanos = histogram();
  private final Map<String, ErrorCount> errors = new LinkedHashMap<>();
  private long answeredWithinWindow;

  /** A request of the window was answered well. */
  void latency(long response, long service) {
    responseNanos.recordValue(Math.clamp(response, 0, MAXIMUM_NANOS));
    serviceNanos.recordValue(Math.clamp(service, 0, MAXIMUM_NANOS));
  }

  /** A good answer came within the window. */
  void answerWithinWindow() {
    answeredWithinWindow++;
  }

  void error(String kind, String message) {
    errors(kind, 1, message);
  }

  void add(Tally other) {
    responseNanos.add(other.responseNanos);
    serviceNanos.add(other.serviceNanos);
    answeredWithinWindow += other.answeredWithinWindow;
    for (ErrorCount error : other.errors.values()) {
      errors(error.kind(), error.count(), error.firstMessage());
    }
  }

  ModelReport report(String name, long windowNanos) {
    double perSecond = windowNanos <= 0 ? 0 : answeredWithinWindow * 1e9 / windowNanos;
    return new ModelReport(
        name,
        responseNanos.getTotalCount(),
        perSecond,
        responseNanos.copy(),
        serviceNanos.copy(),
        List.copyOf(errors.values()));
  }

  private void errors(String kind, long count, String message) {
    String kept = errors.size() < MAXIMUM_KINDS || errors.containsKey(kind) ? kind : OTHER;
    errors.merge(
        kept,
        new ErrorCount(kept, count, message),
        (first, more) -> new ErrorCount(kept, first.count() + more.count(), first.firstMessage()));
  }

  private static Histogram histogram() {
    return new Histogram(RESOLUTION_NANOS, MAXIMUM_NANOS, SIGNIFICANT_DIGITS);
  }
}
