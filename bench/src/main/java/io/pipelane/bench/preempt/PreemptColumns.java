package io.pipelane.bench.preempt;

import io.pipelane.bench.report.Column;
import java.util.List;

/** The columns of {@code bench preempt}. */
final class PreemptColumns {
  static final Column MEAN = new Column("mean_ms", "mean ms", 2);
  static final Column P50 = new Column("p50_ms", "p50 ms", 2);
  static final Column MOST = new Column("most_ms", "max ms", 2);
  static final Column OVERHEAD = new Column("overhead_ms", "mean - ready ms", 2);
  static final Column OVERHEAD_P50 = new Column("overhead_p50_ms", "p50 - ready ms", 2);
  static final Column QUEUE = new Column("queue_ms", "queue ms", 2);
  static final Column STALL = new Column("stall_ms", "stall ms", 2);
  static final Column WENT_BEFORE = new Column("went_before", "went before a run", 0);
  static final Column FIRST_OF_THOSE =
      new Column("first_segment_of_those_ms", "first segment of those ms", 2);
  static final Column LONGEST_AT = new Column("longest_at", "longest: which", 0);
  static final Column LONGEST_QUEUE = new Column("longest_queue_ms", "its queue ms", 2);
  static final Column LONGEST_STALL = new Column("longest_stall_ms", "its stall ms", 2);
  static final Column LONGEST_FIRST =
      new Column("longest_first_segment_ms", "its first segment ms", 2);
  static final Column RUNS = new Column("runs", "runs", 0);

  static final List<Column> ALL =
      List.of(
          MEAN,
          P50,
          MOST,
          OVERHEAD,
          OVERHEAD_P50,
          QUEUE,
          STALL,
          WENT_BEFORE,
          FIRST_OF_THOSE,
          LONGEST_AT,
          LONGEST_QUEUE,
          LONGEST_STALL,
          LONGEST_FIRST,
          RUNS);

  static final String TITLE = "A client asks for a cold model while a job holds the device";

  static final List<String> NOTES =
      List.of(
          "PipeSwitch's tables 3 and 4. Latencies are an HTTP client's, in the server's process, one"
              + " request at a time. ready: nothing else runs and the model's weights are on the"
              + " device. cold: they are taken off just before. busy: a background job runs"
              + " inferences, or training steps of one sequence (_train), as offline requests in a"
              + " closed loop, which is how jobs (POST /v2/jobs) ask too; each request comes at a"
              + " random moment of one.",
          "Values are means over the runs of a round, then medians over rounds. mean - ready, p50 -"
              + " ready: less the ready model's in the same round.",
          "thread, process: workers.isolation. room for both: device memory holds both models, the"
              + " asked one's weights are still taken off. room for one: it holds the larger alone,"
              + " so the background's weights have to leave.",
          "queue: from submission to where the run began, and waiting for others after that. stall:"
              + " waiting for weights, those of later segments too. Both as /v2/models/.../stats"
              + " counts them.",
          "went before a run: requests for which a run gave way at a gate. first segment of those:"
              + " from their submission to their first segment, as the server tells"
              + " (pipelane_preempting_wait_seconds).",
          "longest: which request of a round took longest, and the same of it alone; with several"
              + " rounds medians, of different requests.",
          "stop and start, a new session: the background's session is closed (what it was training is"
              + " not kept), and a plain session of"
              + " ONNX Runtime made from the file, without HTTP; less a warm run of it. A new"
              + " process: the server's process is killed and another one started, to its answer."
              + " Files lie in the page cache, models are imported.",
          "Monitoring of the device's and the host's load is off, so that only gates hold the"
              + " background.");

  static final String PAPER =
      "The paper's figures beside it (V100, PCIe 3.0 x16, batch 8, training of the same model in"
          + " the background, means of 100 runs): ResNet-152 6.01 ms, Inception v3 5.40 ms, BERT-base"
          + " 10.27 ms over the ready model; 3.62, 4.82 and 3.62 ms to the first layer;"
          + " stop-and-start 6475, 7536 and 6371 ms. Other hardware and, on the CPU, other models.";

  private PreemptColumns() {}
}
