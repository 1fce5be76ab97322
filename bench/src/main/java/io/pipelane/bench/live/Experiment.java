package io.pipelane.bench.live;

import io.pipelane.bench.model.AskedModel;
import io.pipelane.bench.report.CutOff;
import io.pipelane.bench.report.ReportOptions;
import io.pipelane.bench.report.Results;
import io.pipelane.bench.report.Rows;
import java.io.IOException;
import java.util.List;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Model.CommandSpec;

/**
 * An experiment that runs in the simulator, live, or both, and what is published of it. Used by one
 * thread.
 */
public final class Experiment {
  private final CommandSpec spec;
  private final LiveOptions live;
  private final ReportOptions files;
  private final Results results;
  private final Rows rows;
  private @Nullable LiveServers last;

  /** One of an experiment's two parts, which adds what comes of it to the results. */
  @FunctionalInterface
  public interface Part {
    /** Does everything. */
    void run(Experiment experiment) throws Exception;
  }

  /**
   * An experiment.
   *
   * @param spec the program
   * @param live which parts run, and on which device
   * @param files where results go
   * @param results those of both parts
   */
  public Experiment(CommandSpec spec, LiveOptions live, ReportOptions files, Results results) {
    this.spec = spec;
    this.live = live;
    this.files = files;
    this.results = results;
    this.rows = new Rows(spec, results);
  }

  /** What comes of both parts. */
  public Results results() {
    return results;
  }

  /** What measures a row, and notes it where that fails. */
  public Rows rows() {
    return rows;
  }

  /** What the device is that it runs live on, for people. */
  public String kind() {
    return live.kind();
  }

  /** What the names of live rows begin with. */
  public String label() {
    return live.label();
  }

  /** The models that are asked live; their files are there. */
  public List<AskedModel> models() throws IOException {
    return live.models(files.work());
  }

  /**
   * Servers for copies of models, of which there is none yet.
   *
   * @param name of their repository
   * @param memory of the device, for weights
   */
  public LiveServers servers(String name, String memory) throws IOException {
    LiveServers servers = live.servers(files.work(), name, memory);
    last = servers;
    return servers;
  }

  /**
   * Runs it and publishes what comes of it, also when it is cut off.
   *
   * @return the program's exit status
   */
  public int run(Part simulation, Part measurement) throws Exception {
    if (live.isSimulated()) {
      simulation.run(this);
    }
    if (!live.isLive()) {
      publish();
      return 0;
    }
    try (CutOff measuring = files.publishIfCutOff(spec, results)) {
      measurement.run(this);
      measuring.complete();
    }
    publish();
    return rows.status();
  }

  private void publish() throws IOException {
    if (last == null) {
      files.publish(spec, results, "");
    } else {
      files.publish(spec, results, last.runtimeVersion(), last.description());
    }
  }
}
