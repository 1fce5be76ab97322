package io.pipelane.bench.groups;

import io.pipelane.bench.live.LiveServers;
import io.pipelane.bench.local.LocalJobs;
import io.pipelane.bench.local.LocalPipelane;
import io.pipelane.bench.model.AskedModel;
import io.pipelane.bench.report.Results;
import io.pipelane.config.section.SchedulingConfig.Policy;
import io.pipelane.demo.protocol.Tensor;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.OptionalDouble;

/** A group of equal jobs of a model, each with a copy of it, packed and in one lane. */
final class LiveGroup {
  private static final int WARMING_ITERATIONS = 4;
  private static final double BYTES_PER_GIB = 1L << 30;

  private final String row;
  private final LiveServers servers;
  private final AskedModel asked;
  private final List<String> models;

  /** Writes a model for each of so many jobs. */
  LiveGroup(String row, LiveServers servers, AskedModel asked, int jobs) throws IOException {
    this.row = row;
    this.servers = servers;
    this.asked = asked;
    this.models = servers.add(asked, jobs);
  }

  /** Measures it in one lane and adds what came of it; its makespan in seconds. */
  double inTurn(int iterations, Results results) throws Exception {
    try (LocalPipelane server = servers.start(Policy.FIFO, 1, Map.of())) {
      double makespan = makespan(server, 1, iterations);
      results.add(row, GroupsColumns.LIVE_FIFO, makespan);
      return makespan;
    }
  }

  /**
   * Measures it in several lanes and adds what came of it.
   *
   * @param inTurn seconds that it took in one; empty where that is not known
   */
  void packed(int iterations, int lanes, OptionalDouble inTurn, Results results) throws Exception {
    try (LocalPipelane server = servers.start(Policy.PACK, lanes, Map.of())) {
      double makespan = makespan(server, lanes, iterations);
      results.add(row, GroupsColumns.LIVE_PACK, makespan);
      results.add(row, GroupsColumns.LANES, lanes);
      results.add(row, GroupsColumns.MEMORY, server.takenBytes() / BYTES_PER_GIB);
      inTurn.ifPresent(fifo -> results.add(row, GroupsColumns.RATIO, fifo / makespan));
    }
  }

  private double makespan(LocalPipelane server, int lanes, int iterations) throws Exception {
    List<Tensor> inputs = server.inputs(asked, models.getFirst()); // They all declare the same.
    List<LocalJobs.Wanted> wanted = new ArrayList<>();
    for (String model : models) {
      wanted.add(new LocalJobs.Wanted(server.openCaller(model, inputs), 0, iterations));
    }
    LocalJobs.warmUp(wanted, WARMING_ITERATIONS * lanes);
    return LocalJobs.run(wanted).stream().mapToDouble(LocalJobs.Ended::ended).max().orElseThrow();
  }
}
