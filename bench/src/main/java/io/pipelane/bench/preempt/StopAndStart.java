package io.pipelane.bench.preempt;

import io.pipelane.bench.local.PlainSession;
import io.pipelane.bench.measure.Samples;
import io.pipelane.bench.measure.Timing;
import io.pipelane.bench.model.AskedModel;
import io.pipelane.bench.process.ChildProcess;
import io.pipelane.bench.process.ServerMain;
import io.pipelane.bench.report.Results;
import io.pipelane.demo.protocol.InferenceClient;
import io.pipelane.demo.protocol.Tensor;
import io.pipelane.runtime.ExecutionProvider;
import java.lang.foreign.Arena;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** The cost of ending one model's session or process, and beginning another's. */
final class StopAndStart {
  private final AskedModel background;
  private final AskedModel asked;
  private final List<Tensor> backgroundInputs;
  private final List<Tensor> inputs;
  private final Results results;

  StopAndStart(
      AskedModel background,
      List<Tensor> backgroundInputs,
      AskedModel asked,
      List<Tensor> inputs,
      Results results) {
    this.background = background;
    this.backgroundInputs = backgroundInputs;
    this.asked = asked;
    this.inputs = inputs;
    this.results = results;
  }

  /** Plain sessions in this process, one open at a time. */
  void measureSessions(Path library, ExecutionProvider provider, int runs) {
    Samples firsts = new Samples();
    Samples warm = new Samples();
    for (int run = 0; run < runs; run++) {
      PlainSession old = open(library, provider, background, backgroundInputs);
      old.run();
      long begin = System.nanoTime();
      old.close();
      try (PlainSession session = open(library, provider, asked, inputs)) {
        session.run();
        long first = System.nanoTime();
        session.run();
        warm.add((System.nanoTime() - first) / 1e6);
        firsts.add((first - begin) / 1e6);
      }
    }
    PreemptRounds.add("stop and start, a new session", firsts, warm, results);
  }

  private static PlainSession open(
      Path library, ExecutionProvider provider, AskedModel model, List<Tensor> inputs) {
    return new PlainSession(
        library, model.file(), provider, inputs, bytes -> Arena.ofAuto().allocate(bytes, 64));
  }

  /**
   * Servers' processes.
   *
   * @param settings of the servers
   */
  void measureProcesses(Path work, Map<String, String> settings, int runs) throws Exception {
    List<String> arguments = new ArrayList<>();
    settings.forEach((key, value) -> arguments.add(key + "=" + value));
    Path log = work.resolve("preempt-server.log");
    Samples firsts = new Samples();
    Samples warm = new Samples();
    ChildProcess server = ChildProcess.start(log, ServerMain.class, arguments);
    try {
      for (int run = 0; run < runs; run++) {
        long begin = System.nanoTime();
        server.process().destroyForcibly().waitFor();
        server.close();
        server = ChildProcess.start(log, ServerMain.class, arguments);
        try (InferenceClient client = new InferenceClient(server.url())) {
          client.infer(asked.model(), inputs);
          firsts.add((System.nanoTime() - begin) / 1e6);
          warm.add(Timing.millis(() -> client.infer(asked.model(), inputs)));
        }
      }
    } finally {
      server.close();
    }
    PreemptRounds.add("stop and start, a new process", firsts, warm, results);
  }
}
