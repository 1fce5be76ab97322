package io.pipelane.server.state;

import io.pipelane.config.StatusException;
import io.pipelane.lanes.process.WorkersOverview;
import io.pipelane.modelstore.ModelVersion;
import io.pipelane.modelstore.repository.ModelOptions.Priority;
import io.pipelane.server.access.Demand;
import io.pipelane.server.catalog.ModelCatalog;
import io.pipelane.server.metrics.DeviceState;
import io.pipelane.server.state.ServerState.Model;
import io.pipelane.server.state.ServerState.OfflineJob;
import io.pipelane.server.state.ServerState.Weights;
import io.pipelane.server.statistics.InferenceStatistics;
import io.pipelane.server.statistics.ModelCounters;
import io.pipelane.switcher.memory.account.Ledger;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Function;
import java.util.function.IntSupplier;
import java.util.function.Predicate;
import java.util.function.Supplier;
import java.util.stream.Stream;

/**
 * The source of each {@link ServerState}, put together from counts that exist anyway. Safe for any
 * thread; it takes locks and belongs off the event loops.
 */
public final class StateSource {
  private final ModelCatalog catalog;
  private final InferenceStatistics statistics;
  private final Supplier<Map<String, DeviceState>> devices;
  private final Supplier<WorkersOverview> workers;
  private final Function<ModelVersion, List<String>> devicesOf;
  private final IntSupplier jobs;
  private final Supplier<List<OfflineJob>> offlineJobs;
  private final InstantSource clock;
  private final long startedMillis;

  /**
   * @param devices by name
   * @param devicesOf the devices that a model has, by name; the one that it had first first
   * @param jobs how many the server knows
   * @param offlineJobs those that have a device
   */
  public StateSource(
      ModelCatalog catalog,
      InferenceStatistics statistics,
      Supplier<Map<String, DeviceState>> devices,
      Supplier<WorkersOverview> workers,
      Function<ModelVersion, List<String>> devicesOf,
      IntSupplier jobs,
      Supplier<List<OfflineJob>> offlineJobs,
      InstantSource clock) {
    this.catalog = catalog;
    this.statistics = statistics;
    this.devices = devices;
    this.workers = workers;
    this.devicesOf = devicesOf;
    this.jobs = jobs;
    this.offlineJobs = offlineJobs;
    this.clock = clock;
    this.startedMillis = clock.millis();
  }

  /**
   * The server now.
   *
   * @param visible which models, by name; of others only what devices and workers hold in sum is
   *     told
   */
  public ServerState read(Predicate<String> visible) {
    Map<String, DeviceState> states = devices.get();
    Map<ModelVersion, List<Weights>> weights = new HashMap<>();
    states.forEach(
        (device, state) -> {
          for (Ledger.Entry entry : state.memory().weights().entries()) {
            weights
                .computeIfAbsent(entry.model().anyEdition(), _ -> new ArrayList<>())
                .add(new Weights(device, entry));
          }
        });
    weights.replaceAll((version, all) -> told(all, devicesOf.apply(version)));
    Map<ModelVersion, ModelCounters> requests = new HashMap<>();
    statistics.all(catalog::versions).stream()
        .filter(ModelCounters::hasBeenAsked)
        .forEach(counters -> requests.put(counters.version(), counters));
    List<Model> models =
        catalog.index().stream()
            .filter(entry -> visible.test(entry.name()))
            .map(
                entry -> {
                  Optional<ModelVersion> version = entry.modelVersion();
                  return new Model(
                      entry,
                      version.map(requests::get),
                      priority(entry),
                      version.map(weights::get).orElse(List.of()));
                })
            .toList();
    List<OfflineJob> placed =
        offlineJobs.get().stream().filter(job -> visible.test(job.model().model())).toList();
    return new ServerState(
        startedMillis,
        clock.millis(),
        catalog.isReady(),
        models,
        states,
        visible.test(Demand.ALL_MODELS) ? jobs.getAsInt() : 0,
        placed,
        new SeenWorkers(workers.get(), visible));
  }

  /** What models hold now. */
  public HeldMemory held() {
    Map<String, Ledger> ledgers = new HashMap<>();
    devices.get().forEach((device, state) -> ledgers.put(device, state.memory().weights()));
    return HeldMemory.in(ledgers);
  }

  /** Of devices that know a model: first those that it has, then those that hold some of it. */
  private static List<Weights> told(List<Weights> all, List<String> devices) {
    if (all.size() == 1 && (devices.isEmpty() || devices.contains(all.getFirst().device()))) {
      return all;
    }
    Stream<Weights> had =
        devices.stream()
            .flatMap(device -> all.stream().filter(weights -> weights.device().equals(device)));
    Stream<Weights> others =
        all.stream()
            .filter(weights -> !devices.contains(weights.device()))
            .filter(weights -> devices.isEmpty() || weights.ledger().residentBytes() > 0);
    return Stream.concat(had, others).toList();
  }

  private Optional<Priority> priority(ModelCatalog.Entry entry) {
    if (entry.state() != ModelCatalog.State.READY) {
      return Optional.empty();
    }
    try {
      return Optional.of(catalog.resolve(entry.name(), entry.version()).options().priority());
    } catch (StatusException e) {
      return Optional.empty(); // It has left since.
    }
  }
}
