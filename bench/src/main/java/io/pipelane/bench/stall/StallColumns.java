package io.pipelane.bench.stall;

import io.pipelane.bench.report.Column;
import java.util.List;

/** The columns of {@code bench stall}. */
final class StallColumns {
  static final Column EXPECTED = new Column("expected_p99_ms", "expected p99 ms", 1);
  static final Column NOTED = new Column("noted_p99_ms", "by the server's notes", 1);
  static final Column RESPONSE = new Column("response_p99_ms", "response p99 ms", 2);
  static final Column SERVICE = new Column("service_p99_ms", "service p99 ms", 2);
  static final Column P95 = new Column("p95_off_percent", "p95 off %", 2);
  static final Column P99 = new Column("p99_off_percent", "p99 off %", 2);
  static final Column P995 = new Column("p99_5_off_percent", "p99.5 off %", 2);
  static final Column LAG = new Column("lag_p99_ms", "own lag p99 ms", 2);

  static final List<Column> ALL = List.of(EXPECTED, NOTED, RESPONSE, SERVICE, P95, P99, P995, LAG);

  static final String TITLE = "A server that stalls, and the latency reported of it";

  static final List<String> NOTES =
      List.of(
          "expected: a share of (stall - t) / period of all requests takes longer than t. By the"
              + " server's notes: the same from the stalls as they were, which a busy machine draws"
              + " out.",
          "response time counts from when a request was meant to leave, service time from when it"
              + " did. off: response time beyond what the server's notes say.",
          "A closed loop asks nothing while it waits; it has a request or two for each stall, and"
              + " its p99 is that of a server without stalls: coordinated omission.");

  private StallColumns() {}
}
