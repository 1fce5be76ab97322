package io.pipelane.loadgen.compare;

import io.pipelane.loadgen.experiment.Experiment;
import io.pipelane.loadgen.experiment.Experiment.Failure;
import io.pipelane.loadgen.experiment.MeasuredRun;
import io.pipelane.loadgen.experiment.Measurement;
import io.pipelane.loadgen.experiment.Step;
import io.pipelane.loadgen.settings.LoadMode;
import java.util.ArrayList;
import java.util.List;

/** Servers under the same loads, one server after another, in rounds: A B A B ... */
public final class Comparison {
  private final List<Server> servers;

  private Comparison(List<Measurement> servers) {
    this.servers = servers.stream().map(Server::new).toList();
  }

  /** One of the servers, and what has been measured of it. */
  private static final class Server {
    private final Measurement measurement;
    private final List<Step> steps = new ArrayList<>();
    private final List<MeasuredRun> runs = new ArrayList<>();
    private final List<Failure> failures = new ArrayList<>();

    Server(Measurement measurement) {
      this.measurement = measurement;
    }

    void measure(LoadMode mode, int round) throws InterruptedException {
      try {
        runs.add(measurement.run(mode, round));
        if (measurement.isInterrupted()) {
          failures.add(Failure.interrupted(mode, round));
        }
      } catch (RuntimeException e) {
        failures.add(Failure.of(mode, round, e));
      }
    }

    void end(LoadMode mode) {
      if (!runs.isEmpty()) {
        steps.add(new Step(mode, runs));
        runs.clear();
      }
    }
  }

  /**
   * Measures until all is measured or the thread is interrupted. A server that cannot be measured
   * in a round has lost that round only; the others' rounds, and its own other ones, are measured
   * all the same.
   *
   * @param servers one measurement for each
   * @return what came of each server; the rounds are the runs, and one's seed says which round it
   *     was. A load of which no round was measured has no step
   */
  public static List<Experiment> run(List<Measurement> servers, List<LoadMode> modes, int rounds)
      throws InterruptedException {
    return new Comparison(servers).run(modes, rounds);
  }

  private List<Experiment> run(List<LoadMode> modes, int rounds) throws InterruptedException {
    for (LoadMode mode : modes) {
      boolean interrupted = measure(mode, rounds);
      servers.forEach(server -> server.end(mode));
      if (interrupted) {
        break;
      }
    }
    return servers.stream().map(own -> new Experiment(own.steps, own.failures)).toList();
  }

  /** Measures all servers in rounds, and says whether an interrupt has ended that. */
  private boolean measure(LoadMode mode, int rounds) throws InterruptedException {
    for (int round = 0; round < rounds; round++) {
      for (Server server : servers) {
        server.measure(mode, round);
        if (server.measurement.isInterrupted()) {
          return true;
        }
      }
    }
    return false;
  }
}
