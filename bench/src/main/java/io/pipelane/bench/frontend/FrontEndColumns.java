package io.pipelane.bench.frontend;

import io.pipelane.bench.process.ServerLoad.Measured;
import io.pipelane.bench.report.Column;
import io.pipelane.bench.report.Results;
import java.util.List;

/** The columns of {@code bench front-end}. */
final class FrontEndColumns {
  static final Column RATE = new Column("server_per_s", "server /s", 0);
  static final Column CEILING_RATE = new Column("ceiling_per_s", "ceiling /s", 0);
  static final Column RELATIVE = new Column("server_to_ceiling", "of ceiling", 3);
  static final Column CPU = new Column("server_cpu_us", "server CPU us", 1);
  static final Column CEILING_CPU = new Column("ceiling_cpu_us", "ceiling CPU us", 1);
  static final Column P50_MILLIS = new Column("p50_ms", "p50 ms", 3);
  static final Column P99_MILLIS = new Column("p99_ms", "p99 ms", 3);
  static final Column CEILING_P99 = new Column("ceiling_p99_ms", "ceiling p99 ms", 3);
  static final Column P99_TO_CEILING = new Column("p99_to_ceiling", "p99/ceiling's", 2);
  static final Column P99_TO_P50 = new Column("p99_to_p50", "p99/p50", 2);
  static final Column ERRORS = new Column("errors", "errors", 0);

  static final List<Column> ALL =
      List.of(
          RATE,
          CEILING_RATE,
          RELATIVE,
          CPU,
          CEILING_CPU,
          P50_MILLIS,
          P99_MILLIS,
          CEILING_P99,
          P99_TO_CEILING,
          P99_TO_P50,
          ERRORS);

  static final String TITLE = "What the front ends cost, beside their ceilings";

  static final List<String> NOTES =
      List.of(
          "Medians over rounds; every contestant has its turn in every round, and ratios are taken"
              + " within rounds. What is aimed at stands in brackets.",
          "server: Pipelane as it comes, in a process of its own; no-op is one Identity over FP32"
              + " [1,4], MiniLM has 16 tokens. Each connection has one request at a time. The load"
              + " generator, one thread, shares the machine.",
          "ceiling, of binary and JSON: a bare Netty server that decodes the same request's head,"
              + " skips its body and answers the same bytes. Of gRPC: grpc-java and generated code,"
              + " which parse the same message and give its tensors back. Both in processes of their"
              + " own, with Pipelane's transport and number of event loops. Of MiniLM: one"
              + " ai.onnxruntime session in the process, as many callers as cores.",
          "of ceiling: server over ceiling; of MiniLM with the client's processor time counted out,"
              + " server /s / (1 - client CPU seconds / (cores x seconds)).",
          "CPU us: processor time of the server's process over answers, in microseconds.");

  private FrontEndColumns() {}

  /** Adds what every contest has of Pipelane. */
  static void add(Results results, String name, Measured served) {
    results.add(name, RATE, served.perSecond());
    results.add(name, CPU, served.serverCpuMicros());
    results.add(name, P50_MILLIS, served.millis(50));
    results.add(name, P99_MILLIS, served.millis(99));
    results.add(name, ERRORS, (double) served.report().total().errorCount());
  }
}
