package io.pipelane.bench.http;

import io.pipelane.bench.report.Column;
import java.util.List;

/** The columns of {@code bench http}. */
final class HttpColumns {
  static final Column LOCAL_RATE = new Column("in_process_per_s", "in process /s", 1);
  static final Column RATE = new Column("server_per_s", "server /s", 1);
  static final Column P50_MILLIS = new Column("p50_ms", "p50 ms", 2);
  static final Column P99_MILLIS = new Column("p99_ms", "p99 ms", 2);
  static final Column P99_TO_P50 = new Column("p99_to_p50", "p99/p50", 2);
  static final Column CLIENT_CORES = new Column("client_cores", "client cores", 3);
  static final Column SERVER_CORES = new Column("server_cores", "server cores", 3);
  static final Column CORRECTED_RATE =
      new Column("server_without_client_per_s", "server without client /s", 1);
  static final Column RELATIVE =
      new Column("server_without_client_to_in_process", "of in process", 3);
  static final Column ERRORS = new Column("errors", "errors", 0);

  static final List<Column> ALL =
      List.of(
          LOCAL_RATE,
          RATE,
          P50_MILLIS,
          P99_MILLIS,
          P99_TO_P50,
          CLIENT_CORES,
          SERVER_CORES,
          CORRECTED_RATE,
          RELATIVE,
          ERRORS);

  static final String TITLE = "MiniLM with 16 tokens over HTTP beside ONNX Runtime in the process";

  static final List<String> NOTES =
      List.of(
          "Medians over rounds; every contestant has its turn in every round, and ratios are taken"
              + " within rounds.",
          "in process: one ai.onnxruntime session, as many callers as cores, its answer left"
              + " unread. server: a process of its own, batching off without --batching; binary tensors"
              + " both ways, each connection one request at a time.",
          "client cores, server cores: processor time over time. The client shares the machine with"
              + " the server, so its part is counted out: server without client = server /s / (1 -"
              + " client CPU seconds / (cores x seconds)).",
          "of in process: server without client over in process.");

  private HttpColumns() {}
}
