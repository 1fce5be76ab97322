package io.pipelane.server.net;

import io.pipelane.lanes.process.WorkersOverview;
import io.pipelane.server.catalog.ModelCatalog;
import io.pipelane.server.jobs.Jobs;
import io.pipelane.server.metrics.JobCounts;
import io.pipelane.server.metrics.Metrics;
import io.pipelane.server.statistics.InferenceStatistics;
import io.pipelane.switcher.InferenceService;
import java.util.Map;
import java.util.Optional;

/** Backends without devices. */
public final class Backends {
  private Backends() {}

  public static Backend of(ModelCatalog catalog, InferenceService service) {
    return of(catalog, service, Optional.empty());
  }

  public static Backend of(ModelCatalog catalog, InferenceService service, Optional<Jobs> jobs) {
    InferenceStatistics statistics = new InferenceStatistics();
    Metrics metrics =
        new Metrics(statistics, Map::of, () -> WorkersOverview.NONE, () -> JobCounts.NONE);
    return new Backend(catalog, service, statistics, metrics, jobs);
  }
}
