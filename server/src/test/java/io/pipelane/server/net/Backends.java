package io.pipelane.server.net;

import io.pipelane.lanes.process.WorkersOverview;
import io.pipelane.modelstore.host.HostTier;
import io.pipelane.server.access.AccessControl;
import io.pipelane.server.catalog.ModelCatalog;
import io.pipelane.server.jobs.Jobs;
import io.pipelane.server.metrics.HostCounts;
import io.pipelane.server.metrics.JobCounts;
import io.pipelane.server.metrics.Metrics;
import io.pipelane.server.metrics.PlacementCounts;
import io.pipelane.server.observability.LogSettings;
import io.pipelane.server.observability.ObservationSettings;
import io.pipelane.server.observability.TraceSetting;
import io.pipelane.server.observability.TraceSettings;
import io.pipelane.server.shared.SharedMemory;
import io.pipelane.server.state.StateSource;
import io.pipelane.server.statistics.InferenceStatistics;
import io.pipelane.switcher.InferenceService;
import java.time.InstantSource;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Supplier;

/** Backends without devices. */
public final class Backends {
  private Backends() {}

  public static Backend of(ModelCatalog catalog, InferenceService service) {
    return of(catalog, service, AccessControl.open());
  }

  public static Backend of(ModelCatalog catalog, InferenceService service, AccessControl access) {
    return of(catalog, service, access, Optional.empty());
  }

  public static Backend of(ModelCatalog catalog, InferenceService service, Optional<Jobs> jobs) {
    return of(catalog, service, AccessControl.open(), jobs);
  }

  private static Backend of(
      ModelCatalog catalog, InferenceService service, AccessControl access, Optional<Jobs> jobs) {
    return of(catalog, service, new InferenceStatistics(), access, jobs, () -> JobCounts.NONE);
  }

  /** One whose metrics have something of the test's. */
  public static Backend of(
      ModelCatalog catalog, InferenceService service, Supplier<JobCounts> jobCounts) {
    return of(
        catalog,
        service,
        new InferenceStatistics(),
        AccessControl.open(),
        Optional.empty(),
        jobCounts);
  }

  /** One that counts, and traces, as it is told. */
  public static Backend of(
      ModelCatalog catalog, InferenceService service, InferenceStatistics statistics) {
    return of(
        catalog, service, statistics, AccessControl.open(), Optional.empty(), () -> JobCounts.NONE);
  }

  private static Backend of(
      ModelCatalog catalog,
      InferenceService service,
      InferenceStatistics statistics,
      AccessControl access,
      Optional<Jobs> jobs,
      Supplier<JobCounts> jobCounts) {
    Metrics metrics =
        new Metrics(
            () -> statistics.all(catalog::versions),
            Map::of,
            () -> HostTier.Statistics.NONE,
            () -> WorkersOverview.NONE,
            jobCounts,
            () -> PlacementCounts.NONE,
            () -> HostCounts.ALONE);
    return new Backend(
        catalog,
        service,
        statistics,
        metrics,
        state(catalog, statistics),
        access,
        jobs,
        observation(),
        SharedMemory.off());
  }

  /** What clients are told of models that no device has. */
  public static StateSource state(ModelCatalog catalog, InferenceStatistics statistics) {
    return new StateSource(
        catalog,
        statistics,
        Map::of,
        () -> WorkersOverview.NONE,
        _ -> List.of(),
        () -> 0,
        List::of,
        InstantSource.system());
  }

  /** One whose clients may share memory. */
  public static Backend sharing(
      ModelCatalog catalog, InferenceService service, SharedMemory sharedMemory) {
    Backend off = of(catalog, service);
    return new Backend(
        off.catalog(),
        off.service(),
        off.statistics(),
        off.metrics(),
        off.state(),
        off.access(),
        off.jobs(),
        off.observation(),
        sharedMemory);
  }

  /** Settings that change nothing outside of their backend. */
  public static ObservationSettings observation() {
    return new ObservationSettings(new TraceSettings(TraceSetting.OFF), LogSettings.ofNothing());
  }
}
