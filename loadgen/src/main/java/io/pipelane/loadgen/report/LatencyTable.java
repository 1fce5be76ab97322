package io.pipelane.loadgen.report;

import io.pipelane.loadgen.result.ModelReport;
import java.io.PrintWriter;
import java.util.List;
import java.util.Locale;
import org.HdrHistogram.Histogram;
import org.jspecify.annotations.Nullable;

/** Latencies in milliseconds below each other. */
record LatencyTable(PrintWriter out, int nameWidth) {
  void header() {
    out.printf(
        "%n%-" + nameWidth + "s %-8s %9s %7s %9s %9s",
        "model",
        "ms",
        "answered",
        "errors",
        "answers/s",
        "mean");
    for (double percentile : LatencySummary.PERCENTILES) {
      out.printf(" %9s", LatencySummary.name(percentile));
    }
    out.printf(" %9s%n", "max");
  }

  /** A line; without a model its counts are those of the histogram. */
  void line(String name, String kind, @Nullable ModelReport model, Histogram nanos) {
    List<String> counts =
        model == null
            ? List.of(kind.equals("service") ? "" : "" + nanos.getTotalCount(), "", "")
            : List.of(
                "" + model.answered(),
                "" + model.errorCount(),
                String.format(Locale.ROOT, "%.1f", model.perSecond()));
    out.printf("%-" + nameWidth + "s %-8s", name, kind);
    out.printf(" %9s %7s %9s", counts.toArray());
    LatencySummary latency = LatencySummary.of(nanos);
    boolean isEmpty = nanos.getTotalCount() == 0;
    printMillis(isEmpty, latency.mean());
    latency.percentiles().forEach(value -> printMillis(isEmpty, value));
    printMillis(isEmpty, latency.max());
    out.println();
  }

  /** A latency; of no answers there is none. */
  private void printMillis(boolean isEmpty, double nanos) {
    out.printf(" %9s", isEmpty ? "-" : String.format(Locale.ROOT, "%.3f", nanos / 1e6));
  }
}
