package io.pipelane.bench.groups;

import io.pipelane.bench.local.LocalJobs;
import io.pipelane.bench.local.LocalPipelane;
import io.pipelane.bench.measure.Run;
import io.pipelane.bench.model.BenchCase;
import io.pipelane.bench.model.ModelCopies;
import io.pipelane.bench.report.Results;
import io.pipelane.config.SchedulingConfig.Policy;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** A group of equal jobs of a model of the demo on the CPU device, packed and in one lane. */
final class LiveGroup {
  private static final String CASE = "minilm-l6-v2 16 tokens";
  private static final String ROW = "live, " + CASE;
  private static final int WARMING_RUNS = 3;

  private final Path work;
  private final Path repository;
  private final BenchCase asked;
  private final List<String> models;

  private LiveGroup(Path work, Path repository, BenchCase asked, List<String> models) {
    this.work = work;
    this.repository = repository;
    this.asked = asked;
    this.models = models;
  }

  /** Writes a model for each of so many jobs. */
  static LiveGroup write(Path work, int jobs) throws IOException {
    Path demo = work.resolve("groups-demo");
    BenchCase asked =
        BenchCase.all(demo).stream()
            .filter(each -> each.name().equals(CASE))
            .findFirst()
            .orElseThrow();
    BenchCase.write(demo, List.of(asked));
    Path repository = work.resolve("groups-" + jobs);
    List<String> models = ModelCopies.write(repository, asked.file(), "job", jobs);
    return new LiveGroup(work, repository, asked, models);
  }

  /**
   * Measures it, fifo first, and adds what came of it.
   *
   * @param packed lanes of pack; fifo has one
   * @return ONNX Runtime's version
   */
  String tell(int iterations, int packed, Results results) throws Exception {
    String runtime = "";
    double fifo = 0;
    for (Policy policy : List.of(Policy.FIFO, Policy.PACK)) {
      int lanes = policy == Policy.PACK ? packed : 1;
      try (LocalPipelane server =
          LocalPipelane.start(
              repository,
              work,
              Map.of(
                  "scheduling.policy", policy.toString(),
                  "device.lanes", Integer.toString(lanes),
                  "device.memory", "4GiB",
                  "queue.max-requests", "1000000",
                  "queue.max-bytes", "64GiB"))) {
        runtime = server.runtimeVersion();
        double makespan = makespan(server, iterations);
        if (policy == Policy.FIFO) {
          fifo = makespan;
          results.add(ROW, GroupsColumns.LIVE_FIFO, makespan);
        } else {
          results.add(ROW, GroupsColumns.LIVE_PACK, makespan);
          results.add(ROW, GroupsColumns.RATIO, fifo / makespan);
          results.add(ROW, GroupsColumns.LANES, lanes);
        }
      }
    }
    return runtime;
  }

  private double makespan(LocalPipelane server, int iterations) throws Exception {
    List<LocalJobs.Wanted> wanted = new ArrayList<>();
    for (String model : models) {
      Run run = server.caller(model, asked.inputs());
      for (int warming = 0; warming < WARMING_RUNS; warming++) {
        run.run();
      }
      wanted.add(new LocalJobs.Wanted(server.openCaller(model, asked.inputs()), 0, iterations));
    }
    return LocalJobs.run(wanted).stream().mapToDouble(LocalJobs.Ended::ended).max().orElseThrow();
  }
}
