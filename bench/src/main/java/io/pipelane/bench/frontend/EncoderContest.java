package io.pipelane.bench.frontend;

import io.pipelane.bench.local.PlainModel;
import io.pipelane.bench.measure.Run;
import io.pipelane.bench.measure.Timing;
import io.pipelane.bench.process.ServerLoad;
import io.pipelane.bench.process.ServerLoad.Measured;
import io.pipelane.bench.report.Results;
import java.time.Duration;
import java.util.List;
import java.util.stream.IntStream;

/** MiniLM with 16 tokens, beside ONNX Runtime in this process with as many callers as cores. */
final class EncoderContest implements Contest {
  private static final int CORES = Runtime.getRuntime().availableProcessors();
  private static final int TAIL_CONNECTIONS = 8;

  private final ServerLoad pipelane;
  private final List<Run> callers;

  EncoderContest(ServerLoad pipelane, PlainModel plain) {
    this.pipelane = pipelane;
    this.callers = IntStream.range(0, CORES).mapToObj(_ -> plain.run()).toList();
  }

  @Override
  public void warm(int connections, Duration length) throws Exception {
    Timing.perSecond(callers, length);
    pipelane.run(connections, length);
  }

  @Override
  public void measure(Results results, int connections, Duration length) throws Exception {
    String name = Contest.name("MiniLM, binary", connections);
    double local = Timing.perSecond(callers, length);
    Measured served = pipelane.run(connections, length);
    FrontEndColumns.add(results, name, served);
    results.add(name, FrontEndColumns.CEILING_RATE, local);
    results.add(name, FrontEndColumns.RELATIVE, served.perSecondWithoutClient(CORES) / local);
    results.add(name, FrontEndColumns.P99_TO_P50, served.millis(99) / served.millis(50));
    if (connections >= TAIL_CONNECTIONS) {
      results.aim(name, FrontEndColumns.RELATIVE, ">= 0.97");
    }
    if (connections == TAIL_CONNECTIONS) {
      results.aim(name, FrontEndColumns.P99_TO_P50, "<= 3");
    }
  }
}
