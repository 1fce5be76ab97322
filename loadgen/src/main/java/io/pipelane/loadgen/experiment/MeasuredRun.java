package io.pipelane.loadgen.experiment;

import io.pipelane.loadgen.result.LoadReport;
import io.pipelane.loadgen.server.ModelStatistics;
import java.util.Map;

/**
 * One run of a load.
 *
 * @param server what the server counted meanwhile, by model; empty where it tells nothing
 */
public record MeasuredRun(long seed, LoadReport report, Map<String, ModelStatistics> server) {
  public MeasuredRun {
    server = Map.copyOf(server);
  }
}
