package io.pipelane.server.state;

import io.pipelane.lanes.process.WorkersOverview;
import io.pipelane.modelstore.ModelVersion;
import io.pipelane.server.catalog.ModelCatalog;
import io.pipelane.server.metrics.DeviceState;
import io.pipelane.server.state.ServerState.Model;
import io.pipelane.server.state.ServerState.Weights;
import io.pipelane.server.statistics.InferenceStatistics;
import io.pipelane.server.statistics.ModelCounters;
import io.pipelane.switcher.memory.Ledger;
import java.time.InstantSource;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Predicate;
import java.util.function.Supplier;

/**
 * Puts a {@link ServerState} together from counts that exist anyway. Safe for any thread; it takes
 * locks and belongs off the event loops.
 */
public final class StateSource {
  private final ModelCatalog catalog;
  private final InferenceStatistics statistics;
  private final Supplier<Map<String, DeviceState>> devices;
  private final Supplier<WorkersOverview> workers;
  private final InstantSource clock;
  private final long startedMillis;

  /**
   * @param devices by name
   */
  public StateSource(
      ModelCatalog catalog,
      InferenceStatistics statistics,
      Supplier<Map<String, DeviceState>> devices,
      Supplier<WorkersOverview> workers,
      InstantSource clock) {
    this.catalog = catalog;
    this.statistics = statistics;
    this.devices = devices;
    this.workers = workers;
    this.clock = clock;
    this.startedMillis = clock.millis();
  }

  /**
   * The server now.
   *
   * @param visible which models, by name; of others only what devices hold in sum is told
   */
  public ServerState read(Predicate<String> visible) {
    Map<String, DeviceState> states = devices.get();
    Map<ModelVersion, Weights> weights = new HashMap<>();
    states.forEach(
        (device, state) -> {
          for (Ledger.Entry entry : state.memory().weights().entries()) {
            weights.put(entry.model(), new Weights(device, entry));
          }
        });
    Map<ModelVersion, ModelCounters> requests = new HashMap<>();
    statistics.all().forEach(counters -> requests.put(counters.version(), counters));
    List<Model> models =
        catalog.index().stream()
            .filter(entry -> visible.test(entry.name()))
            .map(
                entry -> {
                  Optional<ModelVersion> version = version(entry);
                  return new Model(entry, version.map(requests::get), version.map(weights::get));
                })
            .toList();
    return new ServerState(
        startedMillis, clock.millis(), catalog.isReady(), models, states, workers.get());
  }

  private static Optional<ModelVersion> version(ModelCatalog.Entry entry) {
    return entry.version().isEmpty()
        ? Optional.empty()
        : Optional.of(new ModelVersion(entry.name(), Long.parseLong(entry.version())));
  }
}
