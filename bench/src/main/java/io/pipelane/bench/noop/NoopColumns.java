package io.pipelane.bench.noop;

import io.pipelane.bench.report.Column;
import java.util.List;

/** The columns of {@code bench noop}. */
final class NoopColumns {
  static final Column NETTY_RATE = new Column("netty_per_s", "Netty /s", 0);
  static final Column RATE = new Column("server_per_s", "server /s", 0);
  static final Column RELATIVE = new Column("server_to_netty", "server/Netty", 3);
  static final Column NETTY_CPU = new Column("netty_cpu_us", "Netty CPU us", 1);
  static final Column CPU = new Column("server_cpu_us", "server CPU us", 1);
  static final Column P50_MILLIS = new Column("p50_ms", "p50 ms", 3);
  static final Column P99_MILLIS = new Column("p99_ms", "p99 ms", 3);
  static final Column ERRORS = new Column("errors", "errors", 0);

  static final List<Column> ALL =
      List.of(NETTY_RATE, RATE, RELATIVE, NETTY_CPU, CPU, P50_MILLIS, P99_MILLIS, ERRORS);

  static final String TITLE = "A model that does nothing over HTTP, beside Netty alone";

  static final List<String> NOTES =
      List.of(
          "Medians over rounds; both have their turn in every round, and ratios are taken within"
              + " rounds.",
          "server: one Identity over FP32 [1,4] served by Pipelane, binary tensors both ways."
              + " Netty: a bare server that decodes the same request's head, skips its body and"
              + " answers the same bytes; same transport, same number of event loops. Each is a"
              + " process of its own, each connection has one request at a time, and the same load"
              + " generator shares the machine.",
          "CPU us: processor time of the server's process over answers, in microseconds. p50, p99"
              + " and errors: Pipelane's.");

  private NoopColumns() {}
}
