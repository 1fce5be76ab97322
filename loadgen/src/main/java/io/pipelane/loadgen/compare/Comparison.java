package io.pipelane.loadgen.compare;

import io.pipelane.loadgen.experiment.Experiment;
import io.pipelane.loadgen.experiment.MeasuredRun;
import io.pipelane.loadgen.experiment.Measurement;
import io.pipelane.loadgen.experiment.Step;
import io.pipelane.loadgen.settings.LoadMode;
import java.util.ArrayList;
import java.util.List;

/** Servers under the same loads, one server after another, in rounds: A B A B ... */
public final class Comparison {
  private Comparison() {}

  /**
   * Measures.
   *
   * @param servers one measurement for each
   * @return what came of each server; the rounds are the runs
   */
  public static List<Experiment> run(List<Measurement> servers, List<LoadMode> modes, int rounds)
      throws InterruptedException {
    List<List<Step>> steps = new ArrayList<>();
    servers.forEach(_ -> steps.add(new ArrayList<>()));
    for (LoadMode mode : modes) {
      List<List<MeasuredRun>> runs = new ArrayList<>();
      servers.forEach(_ -> runs.add(new ArrayList<>()));
      for (int round = 0; round < rounds; round++) {
        for (int server = 0; server < servers.size(); server++) {
          runs.get(server).add(servers.get(server).run(mode, round));
        }
      }
      for (int server = 0; server < servers.size(); server++) {
        steps.get(server).add(new Step(mode, runs.get(server)));
      }
    }
    return steps.stream().map(own -> new Experiment(own)).toList();
  }
}
