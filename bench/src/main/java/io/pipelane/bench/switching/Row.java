package io.pipelane.bench.switching;

import java.util.List;
import java.util.Locale;

/**
 * One way to get an answer, or a part of it.
 *
 * @param key in JSON
 * @param label in tables
 */
record Row(String key, String label) {
  static final Row PLAIN = new Row("plain_warm", "plain session, warm");
  static final Row GATED_WARM = new Row("gated_warm", "warm, not captured");
  static final Row GATED_COLD = new Row("gated_cold", "cold, not captured");
  static final Row WARM = new Row("warm", "warm");
  static final Row RUN_WARM = new Row("run_warm", "warm, the run alone, without queue and hops");
  static final Row COLD = new Row("cold", "cold, pipelined in groups");
  static final Row COLD_OPTIMAL = new Row("cold_optimal", "cold, groups chosen by measured times");
  static final Row COLD_LAYERS = new Row("cold_layers", "cold, pipelined layer by layer");
  static final Row COLD_WHOLE = new Row("cold_whole", "cold, one copy, then run");
  static final Row STRUCTURE_COLD =
      new Row("structure_cold", "structure cold: new session, weights, first run");
  static final Row CAPTURE = new Row("capture", "a run behind a capture, which it waits for");
  static final Row COPY = new Row("copy", "the copy alone, pages mapped before");
  static final Row ARRIVAL = new Row("arrival", "mapping and copies in groups, nothing run");
  static final Row STOP_AND_START =
      new Row("stop_and_start", "stop and start: new process to first answer");
  static final Row HTTP = new Row("http", "over HTTP, binary tensors, 1 client");
  static final Row ECHO = new Row("echo", "bare Netty, the same bytes, 1 client");
  static final Row LAYER_COPIES =
      new Row("ablation_layer_copies", "copies layer by layer, then run");
  static final Row MANAGED = new Row("ablation_managed", "managed memory (cuMemAllocManaged)");
  static final Row PAGEABLE = new Row("ablation_pageable", "host memory not pinned");
  static final Row ALLOCATED =
      new Row("ablation_allocated", "device memory allocated and freed each time");
  static final Row SYNCHRONISED =
      new Row("ablation_synchronised", "the processor waits for each group");

  static final Row THREAD_WARM = new Row("isolation_thread_warm", "thread: warm");
  static final Row PROCESS_WARM = new Row("isolation_process_warm", "process: warm");
  static final Row THREAD_COLD = new Row("isolation_thread_cold", "thread: cold");
  static final Row PROCESS_COLD = new Row("isolation_process_cold", "process: cold");
  static final Row THREAD_RUN = new Row("isolation_thread_run", "thread: warm, the run alone");
  static final Row PROCESS_RUN = new Row("isolation_process_run", "process: warm, the run alone");

  static final List<Row> ISOLATION =
      List.of(THREAD_WARM, PROCESS_WARM, THREAD_COLD, PROCESS_COLD, THREAD_RUN, PROCESS_RUN);

  static final List<Row> ABLATIONS =
      List.of(LAYER_COPIES, MANAGED, PAGEABLE, ALLOCATED, SYNCHRONISED);

  /** Cold with a share of the weights resident. */
  static Row resident(double share) {
    String text = percent(share);
    return new Row("cold_resident_" + text, "cold, the first " + text + " % resident");
  }

  /** The same with groups chosen by measured times. */
  static Row residentOptimal(double share) {
    String text = percent(share);
    return new Row(
        "cold_optimal_resident_" + text, "cold, the first " + text + " % resident, groups chosen");
  }

  private static String percent(double share) {
    return String.format(Locale.ROOT, share * 100 % 1 == 0 ? "%.0f" : "%.1f", share * 100);
  }

  /** Cold with the weights in a number of groups. */
  static Row groups(int count) {
    return new Row("cold_groups_" + count, "cold, at most " + count + " groups");
  }
}
