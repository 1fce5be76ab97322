package io.pipelane.bench.forms;

import ai.onnxruntime.OrtException;
import io.pipelane.bench.local.LocalCaller;
import io.pipelane.bench.local.LocalPipelane;
import io.pipelane.bench.local.PlainModel;
import io.pipelane.bench.measure.Run;
import io.pipelane.bench.measure.Timing;
import io.pipelane.bench.model.BenchCase;
import io.pipelane.bench.report.Column;
import io.pipelane.bench.report.Results;
import java.time.Duration;
import java.util.List;
import java.util.stream.IntStream;

/**
 * The measurements of one case, a round at a time: first all latencies, then all throughputs, then
 * cold.
 */
final class FormsRound implements AutoCloseable {
  private static final int CORES = Runtime.getRuntime().availableProcessors();

  private final BenchCase benchCase;
  private final LocalPipelane gated;
  private final Duration length;
  private final PlainModel plain;
  private final List<Run> plainCallers;
  private final List<LocalCaller> gatedCallers;

  /** Opens the plain session and warms all contestants. */
  FormsRound(BenchCase benchCase, LocalPipelane gated, Duration warmup, Duration length)
      throws Exception {
    this.benchCase = benchCase;
    this.gated = gated;
    this.length = length;
    plain = new PlainModel(benchCase.file(), benchCase.inputs());
    plainCallers = IntStream.range(0, CORES).mapToObj(_ -> plain.run()).toList();
    gatedCallers = callers(gated);
    Timing.perSecond(plainCallers, warmup);
    Timing.perSecond(gatedCallers, warmup);
    double _ = coldMillis(warmup);
  }

  private List<LocalCaller> callers(LocalPipelane pipelane) {
    return IntStream.range(0, CORES)
        .mapToObj(_ -> pipelane.caller(benchCase.model(), benchCase.inputs()))
        .toList();
  }

  /** Measures every contestant once, in turn. */
  void measure(Results results) throws Exception {
    Recorder recorder = new Recorder(results);
    recorder.add(FormsColumns.PLAIN_MILLIS, Timing.medianMillis(plainCallers.getFirst(), length));
    double warm = Timing.medianMillis(gatedCallers.getFirst(), length);
    recorder.add(FormsColumns.GATED_MILLIS, warm);

    double plainRate = Timing.perSecond(plainCallers, length);
    double gatedRate = Timing.perSecond(gatedCallers, length);
    recorder.add(FormsColumns.PLAIN_RATE, plainRate);
    recorder.add(FormsColumns.GATED_RATE, gatedRate);
    recorder.add(FormsColumns.GATED_TO_PLAIN, gatedRate / plainRate);

    double cold = coldMillis(length);
    double plainCold = plainColdMillis();
    recorder.add(FormsColumns.COLD_MILLIS, cold);
    recorder.add(FormsColumns.PLAIN_COLD_MILLIS, plainCold);
    recorder.add(FormsColumns.COLD_TO_GATED, cold / warm);
    recorder.add(FormsColumns.COLD_TO_PLAIN_COLD, cold / plainCold);
  }

  private double coldMillis(Duration length) throws Exception {
    return Timing.samples(() -> gated.evict(benchCase.model()), gatedCallers.getFirst(), length)
        .median();
  }

  /** From the file to the first answer; closing the session is not counted. */
  private double plainColdMillis() throws Exception {
    long begin = System.nanoTime();
    try (PlainModel model = new PlainModel(benchCase.file(), benchCase.inputs())) {
      model.run().run();
      return (System.nanoTime() - begin) / 1e6;
    }
  }

  @Override
  public void close() throws OrtException {
    plain.close();
  }

  private final class Recorder {
    private final Results results;

    Recorder(Results results) {
      this.results = results;
    }

    void add(Column column, double value) {
      results.add(benchCase.name(), column, value);
    }
  }
}
