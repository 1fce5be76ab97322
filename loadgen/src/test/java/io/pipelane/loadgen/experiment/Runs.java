package io.pipelane.loadgen.experiment;

import io.pipelane.loadgen.result.ClientCpu;
import io.pipelane.loadgen.result.ErrorCount;
import io.pipelane.loadgen.result.LoadReport;
import io.pipelane.loadgen.result.ModelReport;
import io.pipelane.loadgen.result.Pauses;
import io.pipelane.loadgen.result.SendCounts;
import io.pipelane.loadgen.result.Slice;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.HdrHistogram.Histogram;

/** Runs that a test makes up, of a second each. */
public final class Runs {
  private Runs() {}

  /** A run whose requests were all answered, in these times. */
  public static MeasuredRun of(long... nanos) {
    return of(List.of(), List.of(), nanos);
  }

  /** A run with answers in these times, and with errors or reasons to throw its figures away. */
  public static MeasuredRun of(List<ErrorCount> errors, List<String> bottlenecks, long... nanos) {
    Histogram times = new Histogram(3);
    for (long each : nanos) {
      times.recordValue(each);
    }
    ModelReport total =
        new ModelReport("all", nanos.length, nanos.length, times, times, null, errors);
    LoadReport report =
        new LoadReport(
            total,
            List.of(total),
            Duration.ofSeconds(1),
            new SendCounts(nanos.length, 0, 0, 0, 0, 0),
            new Histogram(3),
            new Pauses(0, Duration.ZERO, Duration.ZERO, Duration.ZERO),
            List.of(new Slice(Duration.ZERO, Duration.ofSeconds(1), times, nanos.length, 0, 0)),
            ClientCpu.NONE,
            null,
            bottlenecks,
            List.of());
    return new MeasuredRun(1, report, Map.of());
  }
}
