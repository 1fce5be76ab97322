package io.pipelane.loadgen.measure;

import io.pipelane.loadgen.result.ErrorCount;
import io.pipelane.loadgen.result.ModelReport;
import io.pipelane.loadgen.result.Warmth;
import io.pipelane.loadgen.result.WarmthSplit;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.HdrHistogram.Histogram;
import org.jspecify.annotations.Nullable;

/** The sums of what is measured of one model. One thread at a time. */
final class Tally {
  private static final int DIGITS = 3;
  private static final int MAXIMUM_KINDS = 32;
  private static final String OTHER = "other";

  private final Histogram responseNanos = Latencies.histogram(DIGITS);
  private final Histogram serviceNanos = Latencies.histogram(DIGITS);
  private final Map<String, ErrorCount> errors = new LinkedHashMap<>();
  private @Nullable WarmthSplit warmth;
  private long answeredWithinWindow;

  /** A request of the window was answered well. */
  void latency(long response, long service, Warmth told) {
    Latencies.record(responseNanos, response);
    Latencies.record(serviceNanos, service);
    switch (told) {
      case UNTOLD -> {}
      case WARM -> Latencies.record(warmth().warmNanos(), response);
      case COLD -> Latencies.record(warmth().coldNanos(), response);
    }
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
    if (other.warmth != null) {
      warmth().warmNanos().add(other.warmth.warmNanos());
      warmth().coldNanos().add(other.warmth.coldNanos());
    }
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
        responseNanos,
        serviceNanos,
        warmth,
        List.copyOf(errors.values()));
  }

  private WarmthSplit warmth() {
    WarmthSplit split = warmth;
    if (split == null) {
      split = new WarmthSplit(Latencies.histogram(DIGITS), Latencies.histogram(DIGITS));
      warmth = split;
    }
    return split;
  }

  private void errors(String kind, long count, String message) {
    String kept = errors.size() < MAXIMUM_KINDS || errors.containsKey(kind) ? kind : OTHER;
    errors.merge(
        kept,
        new ErrorCount(kept, count, message),
        (first, more) -> new ErrorCount(kept, first.count() + more.count(), first.firstMessage()));
  }
}
