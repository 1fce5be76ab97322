package io.pipelane.bench.fairness;

import io.pipelane.bench.report.Column;
import java.util.List;

/** The columns of {@code bench fairness}, told of each time between two joins or leaves. */
final class FairnessColumns {
  static final Column JOBS = new Column("jobs", "jobs", 0);
  static final Column FROM = new Column("from_s", "from s", 1);
  static final Column TO = new Column("to_s", "to s", 1);
  static final Column EQUAL = new Column("equal_share", "equal share", 3);
  static final Column LEAST = new Column("least_share", "least", 3);
  static final Column MOST = new Column("most_share", "most", 3);
  static final Column ALL_JOBS = new Column("all_share", "all together", 3);
  static final Column REACTION = new Column("joined_to_served_ms", "join to service ms", 1);

  static final List<Column> ALL = List.of(JOBS, FROM, TO, EQUAL, LEAST, MOST, ALL_JOBS, REACTION);

  static final String TITLE = "Equal jobs that join and leave";

  static final List<String> NOTES =
      List.of(
          "Salus' experiment (Yu and Chowdhury, MLSys 2020, section 5.1.2, figure 9): a job, two,"
              + " three, and back; its aim is 1, 1/2 and 1/3 of the device for each, at once, and"
              + " all together as much as one alone.",
          "simulated: three inception3_50 trainings of 145, 75 and 35 iterations (as in the paper's"
              + " artefact, 0.36 s each on its P100) that join 15 s apart; the policy and the lane"
              + " table are the server's. all together: of the device's time.",
          "live: three copies of --model on --device, in this process, one lane, callers in"
              + " closed loops, one model with more of them than the next (--callers), which join"
              + " --step seconds apart and leave in the reverse order. all together: of"
              + " the answers per second that the first job had alone at its beginning; on cores that"
              + " other programs use it moves with them.",
          "live, fifo: the same without fairness, where shares follow the callers.",
          "least, most: of the jobs' shares of what all were served, without the first second after a change (a tenth of a"
              + " step, live). join to service: from a job's joining to the begin of its first"
              + " iteration, or to its first answer, live.");

  private FairnessColumns() {}
}
