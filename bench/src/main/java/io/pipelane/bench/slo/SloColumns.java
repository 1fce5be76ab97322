package io.pipelane.bench.slo;

import io.pipelane.bench.report.Column;
import java.util.List;

/** The columns of {@code bench slo}, told of each offered load. */
final class SloColumns {
  static final Column OFFERED = new Column("offered_per_s", "offered /s", 1);
  static final Column ADMITTED = new Column("admitted_percent", "admitted %", 2);
  static final Column COUNT = new Column("admitted", "admitted", 0);
  static final Column ATTAINMENT = new Column("attainment_percent", "in time, of those %", 3);
  static final Column GOODPUT = new Column("goodput_per_s", "goodput /s", 1);
  static final Column P50 = new Column("p50_ms", "p50 ms", 2);
  static final Column P99 = new Column("p99_ms", "p99 ms", 2);
  static final Column MOST = new Column("most_ms", "most ms", 2);
  static final Column STALL = new Column("stall_ms", "mean stall ms", 3);

  static final List<Column> ALL =
      List.of(OFFERED, ADMITTED, COUNT, ATTAINMENT, GOODPUT, P50, P99, MOST, STALL);

  static final String TITLE = "Many models and an objective";

  static final List<String> NOTES =
      List.of(
          "Clockwork's experiment (Gujarati et al., OSDI 2020): every request is due --objective"
              + " milliseconds after it came. One that cannot make it, behind what runs and waits or"
              + " by what its own weights lack, is refused at once, or when its turn comes, never after"
              + " work was done for it. The rule is the server's, in the simulator, too: what goes"
              + " before a request counts as if all weights were there, as they may come in meanwhile."
              + " The aim is 99.999 % of those that are admitted; none late of n shows, at 95 %, that no"
              + " more than 3 / n are.",
          "Simulated, models are variants, in turns, of the structures whose plans were recorded on an H200;"
              + " arrivals are like those of Azure Functions (popularity over orders of magnitude,"
              + " timers, clusters, a day's swing). load 1 is one request after another with all"
              + " weights there.",
          "live: --live-models variants of ppocr-cls 48x192 on the CPU device, in this process, without"
              + " HTTP; --live-memory holds only some of them. One lane, first come, first served, and"
              + " then again as a server has it by default (srtf); the same arrivals and loads, of"
              + " what one warm run after another gave just before."
              + " Requests carry a deadline --live-margin ahead of the objective, and are"
              + " judged by the objective, from the time at which they were meant to leave. What"
              + " the server refuses is not admitted; another failure would end the program.",
          "Simulated: one lane, first come, first served, one link; residency is decided by the"
              + " server's classes. A run takes what its plan says, so estimates err only by what"
              + " remapping and pages under way cost, 0.6 ms at most, and --margin covers that; on a"
              + " device runs vary, and queues, threads and networks add to them.",
          "The first quarter of each trace is not counted.");

  private SloColumns() {}
}
