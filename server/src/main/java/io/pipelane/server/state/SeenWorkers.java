package io.pipelane.server.state;

import io.pipelane.lanes.process.WorkersOverview;
import io.pipelane.lanes.process.WorkersOverview.BuiltModel;
import io.pipelane.server.access.Demand;
import java.util.List;
import java.util.function.Predicate;

/**
 * The worker processes as somebody may see them: models that he may not know of have no names.
 *
 * @param all as they are; what is told of models goes through the methods here
 * @param visible which models, by name
 */
public record SeenWorkers(WorkersOverview all, Predicate<String> visible) {
  /** Those of a worker's built models that may be named. */
  public List<BuiltModel> models(WorkersOverview.Entry worker) {
    return worker.models().stream().filter(built -> visible.test(built.version().model())).toList();
  }

  /** What became of the last one lost, which may name a model: for who sees all of them. */
  public String lastLoss() {
    return visible.test(Demand.ALL_MODELS) ? all.lastLoss() : "";
  }
}
