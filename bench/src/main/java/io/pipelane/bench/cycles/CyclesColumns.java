package io.pipelane.bench.cycles;

import io.pipelane.bench.report.Column;
import java.util.List;

/** The columns of {@code bench cycles}. */
final class CyclesColumns {
  static final Column SHARE = new Column("share_of_bound", "of the bound", 3);
  static final Column LEAST = new Column("least_ms", "min ms", 2);
  static final Column MEAN = new Column("mean_ms", "mean ms", 2);
  static final Column MOST = new Column("most_ms", "max ms", 2);
  static final Column FIRST = new Column("first_ms", "first of a turn ms", 2);
  static final Column BACKGROUND = new Column("background_a_turn", "background /turn", 1);
  static final Column INFERENCE = new Column("inference_a_turn", "inference /turn", 1);
  static final Column TURNS = new Column("turns", "turns", 0);
  static final Column MOVED = new Column("moved_mb_a_turn", "moved MB/turn", 1);

  static final List<Column> ALL =
      List.of(SHARE, LEAST, MEAN, MOST, FIRST, BACKGROUND, INFERENCE, TURNS, MOVED);

  static final String TITLE = "A background job and an inference model take turns";

  static final List<String> NOTES =
      List.of(
          "PipeSwitch's figure 6. The turn changes every so many seconds. Device memory has room for"
              + " the larger of the two models alone, so every turn begins with a switch. In this"
              + " process, without HTTP, one caller, runs one behind the other; a turn ends with the"
              + " run during which its time is up, and has one run at least. Where a switch takes longer"
              + " than a turn, fewer turns are taken.",
          "of the bound: what the runs of both would have taken alone, over the time they had: their"
              + " throughput as a share of what it is without switching. Alone: by the same way,"
              + " before, between and after the turns. Aimed at: 0.99 from 1 s on.",
          "min, mean, max: latencies of the inference model's requests; that of a turn's first"
              + " request counts from when the turn was to begin, so it has the rest of the"
              + " background's last run in it. first of a turn: its median.",
          "A background _train is a training step: its steps are one sequence, by stop and start each is"
              + " the first one.",
          "stop and start: at each turn the session of the model before is closed, and a plain"
              + " session of ONNX Runtime is made from the file, which lies in the page cache; no"
              + " process is started, as PipeSwitch's stop-and-start does.",
          "moved: bytes that Pipelane moved, for runs and ahead of them; of the other model's"
              + " weights what finds room stays.",
          "The paper (V100, ResNet-152 in both roles, training in the background): close to 100 % at"
              + " every cycle, stop-and-start near zero below 10 s. Not the same hardware, models or"
              + " background.");

  private CyclesColumns() {}
}
