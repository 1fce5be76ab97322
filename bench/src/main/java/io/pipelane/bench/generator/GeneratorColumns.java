package io.pipelane.bench.generator;

import io.pipelane.bench.report.Column;
import java.util.List;

/** The columns of {@code bench generator}. */
final class GeneratorColumns {
  static final Column RATE = new Column("requests_per_s", "requests /s", 0);
  static final Column MICROS = new Column("cpu_us", "CPU us a request", 2);
  static final Column CORES = new Column("cores", "cores at the rate", 3);

  static final List<Column> ALL = List.of(RATE, MICROS, CORES);

  static final String TITLE = "What generating load costs, beside wrk";

  static final List<String> NOTES =
      List.of(
          "Medians over rounds; each form has its turn in every round, against a bare Netty server in"
              + " a process of its own that answers every request with the same few bytes.",
          "CPU us a request: processor time, user and system, of the whole generating process over"
              + " requests. Ours leaves the start of the JVM out and has its compiler's and collector's"
              + " threads in; wrk's is all of it. cores at the rate: CPU time a request times --rate.",
          "closed loop: each connection asks again as soon as it has its answer, which costs least,"
              + " since many answers are read at a time. open loop: requests leave at their own times,"
              + " --rate a second. wrk has no such thing; paced: each of its connections rests for a"
              + " millisecond behind each answer.");

  private GeneratorColumns() {}
}
