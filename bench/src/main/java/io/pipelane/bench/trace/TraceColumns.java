package io.pipelane.bench.trace;

import io.pipelane.bench.report.Column;
import java.util.List;

/** The columns of {@code bench trace}, told of each policy. */
final class TraceColumns {
  static final Column MAKESPAN = new Column("makespan_min", "makespan min", 1);
  static final Column QUEUEING = new Column("queueing_min", "queueing min", 1);
  static final Column COMPLETION = new Column("completion_min", "mean JCT min", 1);
  static final Column COMPLETION_95 = new Column("completion_95_min", "95 % JCT min", 1);
  static final Column LIVE_MAKESPAN = new Column("makespan_s", "makespan s", 2);
  static final Column LIVE_QUEUEING = new Column("queueing_s", "to first answer s", 2);
  static final Column LIVE_COMPLETION = new Column("completion_s", "mean JCT s", 2);
  static final Column LIVE_COMPLETION_95 = new Column("completion_95_s", "95 % JCT s", 2);
  static final Column TO_MAKESPAN = new Column("makespan_to_fifo", "makespan/fifo's", 3);
  static final Column TO_QUEUEING = new Column("fifo_to_queueing", "fifo's queueing/queueing", 2);
  static final Column TO_COMPLETION = new Column("fifo_to_completion", "fifo's JCT/JCT", 2);
  static final Column LEAST = new Column("fifo_to_completion_least", "least", 2);
  static final Column MOST = new Column("fifo_to_completion_most", "most", 2);

  static final List<Column> ALL =
      List.of(
          MAKESPAN,
          QUEUEING,
          COMPLETION,
          COMPLETION_95,
          LIVE_MAKESPAN,
          LIVE_QUEUEING,
          LIVE_COMPLETION,
          LIVE_COMPLETION_95,
          TO_MAKESPAN,
          TO_QUEUEING,
          TO_COMPLETION,
          LEAST,
          MOST);

  static final String TITLE = "A trace of jobs under several policies";

  static final List<String> NOTES =
      List.of(
          "Salus' experiment (Yu and Chowdhury, MLSys 2020, section 5.1). Simulated: the policies and"
              + " the lane table are the server's, iterations take what salus/workloads.csv"
              + " (bench, resources) says, no device has a part in it. Rows named paper are its table 1.",
          "The paper's trace is not public. Jobs: workloads of its table 2 with equal chances,"
              + " durations log-normal (--spread), scaled so that their mean is the paper's (fifo's"
              + " mean JCT less its queueing, 3.0 min), coming at random within --window. The"
              + " window is short because the paper's fifo row queues for 0.55 of the makespan: most"
              + " jobs came early. The spread is chosen for a heavy tail as in Tiresias' cluster; the"
              + " paper does not state it, and ratios grow with it.",
          "Medians over traces (--traces, seeded); ratios to fifo are taken within a trace, above 1"
              + " is better than fifo but for the makespan. least, most: of the ratio of mean JCT,"
              + " over the traces.",
          "fifo, srtf (no ageing) and fair have one lane, as in the paper; pack has as many as fit."
              + " Iterations of several lanes run beside each other as far as a model's part of an"
              + " iteration that does not grow with the batch leaves the device idle, which is more"
              + " than a device would really leave.",
          "live: --live-jobs jobs of --model, each with a copy of its own, on --device, in this process,"
              + " weights on the device, after a few iterations that do not count; --live-iterations each in the mean, log-normal"
              + " (--spread), which all wait in the server's queue from the job's coming on, as items of one job."
              + " Queueing is to the first answer. pack has --live-lanes lanes, the others one, no ageing, nothing is"
              + " batched.",
          "A job whose persistent memory had to go loads it again, at --link; a change of jobs costs"
              + " --change besides.");

  private TraceColumns() {}
}
