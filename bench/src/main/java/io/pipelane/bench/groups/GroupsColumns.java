package io.pipelane.bench.groups;

import io.pipelane.bench.report.Column;
import java.util.List;

/** The columns of {@code bench groups}, told of each group. */
final class GroupsColumns {
  static final Column FIFO = new Column("fifo_makespan_min", "fifo makespan min", 1);
  static final Column PACK = new Column("pack_makespan_min", "pack makespan min", 1);
  static final Column LIVE_FIFO = new Column("fifo_makespan_s", "fifo makespan s", 2);
  static final Column LIVE_PACK = new Column("pack_makespan_s", "pack makespan s", 2);
  static final Column RATIO = new Column("fifo_to_pack", "fifo's/pack's", 2);
  static final Column PAPER = new Column("paper_ratio", "paper", 2);
  static final Column LANES = new Column("lanes", "lanes", 0);
  static final Column MEMORY = new Column("memory_gib", "memory taken GiB", 1);
  static final Column SHARE = new Column("device_share", "device busy alone", 2);

  static final List<Column> ALL =
      List.of(FIFO, PACK, LIVE_FIFO, LIVE_PACK, RATIO, PAPER, LANES, MEMORY, SHARE);

  static final String TITLE = "Groups of jobs that come all at once";

  static final List<String> NOTES =
      List.of(
          "Salus' experiment (Yu and Chowdhury, MLSys 2020, section 5.2, figure 11): 300 jobs of 500"
              + " iterations (as in the paper's artefact) come together; the group is done when all"
              + " are. Simulated: the policies and the lane table are the server's, iterations take"
              + " what salus/workloads.csv (bench, resources) says, no device has a part in it.",
          "as in the paper: fifo starts each job in TensorFlow before its first iteration, as the"
              + " artefact's runs did; the starts of packed jobs lie behind other jobs' iterations."
              + " in Pipelane: no such start, a job begins with its weights' coming.",
          "device busy alone: the part of an iteration that grows with the batch. The rest is taken"
              + " to be free for other lanes' iterations; beyond the whole device nothing is gained.",
          "superres is not among the workloads whose times the artefact tells: its iteration is"
              + " computed, so its row says what the model of lanes makes of it, not what was"
              + " measured anywhere.",
          "live: --live-jobs jobs of --live-iterations iterations of a model (--model, --batch), each"
              + " with a copy of it, on --device, in this process, weights on the device, nothing"
              + " batched, after a few iterations that do not count; one lane under fifo, --live-lanes"
              + " under pack. On the CPU each lane keeps a core busy, so what packing gains is as many"
              + " cores as there are for it. memory: by the ledger, under pack.",
          "lanes: most that ran at a time under pack.");

  private GroupsColumns() {}
}
