package io.pipelane.server.device;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.lanes.process.ProcessSessionFactory;
import io.pipelane.lanes.process.WorkersOverview;
import io.pipelane.modelstore.ImportedModel;
import io.pipelane.modelstore.ModelVersion;
import io.pipelane.modelstore.host.HostTier;
import io.pipelane.modelstore.repository.ModelOptions;
import io.pipelane.server.metrics.DeviceState;
import io.pipelane.switcher.InferenceRequest;
import io.pipelane.switcher.InferenceService;
import io.pipelane.switcher.MemoryOverview;
import io.pipelane.switcher.ResultHandler;
import io.pipelane.switcher.SequenceState;
import io.pipelane.switcher.Switcher;
import io.pipelane.switcher.sharing.Attainment;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Supplier;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * The devices together, as one service: each version is served by one of them.
 *
 * <p>Safe for any thread; what blocks in {@link Switcher} blocks here.
 */
public final class ServingDevices implements InferenceService {
  private final List<Place> places;
  private final HostTier hostTier;
  private final boolean shareStructures;
  private final DevicePlacement placement;
  private final Map<ModelVersion, Switcher> servedBy = new ConcurrentHashMap<>();

  /**
   * A device and what serves from it.
   *
   * @param name what people call it, no two alike
   * @param workers the processes that its models run in; null where they run in this one
   */
  record Place(String name, Switcher switcher, @Nullable ProcessSessionFactory workers) {}

  ServingDevices(List<Place> places, HostTier hostTier, boolean shareStructures) {
    this.shareStructures = shareStructures;
    this.places = List.copyOf(places);
    this.hostTier = hostTier;
    this.placement = new DevicePlacement(places.size());
  }

  /** Makes a model answerable as {@link #register(ImportedModel, ModelOptions)} does. */
  public void register(ImportedModel model) {
    register(model, ModelOptions.DEFAULT);
  }

  /**
   * Makes a model answerable; blocks.
   *
   * @param options how its owner wants its requests to wait and to be run together
   * @throws StatusException as {@link Switcher#register}; nothing is left then
   */
  public void register(ImportedModel model, ModelOptions options) {
    ModelVersion version = model.version();
    long bytes = model.plan().weightBytes();
    Switcher switcher = places.get(placement.place(version, bytes)).switcher;
    try {
      hostTier.prepare(model.weights(), bytes);
      switcher.register(shareStructures ? model : model.unshared(), options);
    } catch (RuntimeException | Error e) {
      placement.remove(version);
      throw e;
    }
    servedBy.put(version, switcher);
  }

  /** Has a registered model's requests be treated otherwise from now on. */
  public void agree(ImportedModel model, ModelOptions options) {
    switcher(model.version()).agree(model, options);
  }

  /**
   * Takes a model out; blocks until its runs have ended.
   *
   * @throws StatusException {@link Status#NOT_FOUND} when it is not registered
   */
  public void deregister(ModelVersion version) {
    switcher(version).deregister(version);
    servedBy.remove(version);
    placement.remove(version);
  }

  @Override
  public boolean isUsable() {
    return places.stream().allMatch(place -> place.switcher.isUsable());
  }

  /** Brings a model's weights onto its device; see {@link Switcher#warmUp}. */
  public void warmUp(ModelVersion version) {
    switcher(version).warmUp(version);
  }

  /** Says that a model will be asked soon; see {@link Switcher#wish}. */
  public void wish(ModelVersion version, Optional<Duration> within) {
    switcher(version).wish(version, within);
  }

  /** Takes a model's weights off its device; see {@link Switcher#evict}. */
  public void evict(ModelVersion version) {
    switcher(version).evict(version);
  }

  @Override
  public Ticket submit(InferenceRequest request, ResultHandler handler) {
    return switcher(request.model()).submit(request, handler);
  }

  @Override
  public Optional<SequenceState> sequence(ModelVersion model, String id) {
    return Optional.ofNullable(servedBy.get(model))
        .flatMap(switcher -> switcher.sequence(model, id));
  }

  private Switcher switcher(ModelVersion version) {
    Switcher switcher = servedBy.get(version);
    if (switcher == null) {
      throw new StatusException(Status.NOT_FOUND, "model " + version + " is not in service");
    }
    return switcher;
  }

  /**
   * Why requests for a version are refused at present, if they are; for any thread, and at once.
   */
  public Optional<String> quarantine(ModelVersion version) {
    Switcher switcher = servedBy.get(version);
    return switcher == null ? Optional.empty() : switcher.quarantine(version);
  }

  /** Lets requests for a version that was refused be tried again. */
  public void trust(ModelVersion version) {
    switcher(version).trust(version);
  }

  @Override
  public WorkersOverview workers() {
    return processes()
        .map(ProcessSessionFactory::workers)
        .reduce(WorkersOverview.NONE, WorkersOverview::and);
  }

  @Override
  public CompletableFuture<Void> recycle(int worker) {
    return processes()
        .filter(workers -> workers.has(worker))
        .findFirst()
        .or(() -> processes().findFirst())
        .map(workers -> workers.recycle(worker))
        .orElseGet(() -> InferenceService.super.recycle(worker));
  }

  private Stream<ProcessSessionFactory> processes() {
    return places.stream().flatMap(place -> Stream.ofNullable(place.workers));
  }

  /** What a version's owner should know of how it runs at present; for any thread, and at once. */
  public List<String> notes(ModelVersion version) {
    Switcher switcher = servedBy.get(version);
    return switcher == null ? List.of() : switcher.notes(version);
  }

  /** Who holds what of each device's memory, now, by the devices' names. */
  public Map<String, MemoryOverview> memory() {
    Map<String, MemoryOverview> overviews = new LinkedHashMap<>();
    places.forEach(place -> overviews.put(place.name, place.switcher.memory()));
    return overviews;
  }

  /** What each device holds, has done and has still to do, by the devices' names. */
  public Map<String, DeviceState> states() {
    Map<String, DeviceState> states = new LinkedHashMap<>();
    for (Place place : places) {
      Switcher switcher = place.switcher;
      states.put(
          place.name,
          new DeviceState(
              switcher.memory(),
              switcher.transfers(),
              switcher.queue(),
              switcher.paddedRows(),
              switcher.estimateError(),
              switcher.preemptions(),
              switcher.shortRuns(),
              switcher.sequences(),
              switcher.sharing().overview()));
    }
    return states;
  }

  /** Has each device's state be judged by counts of online requests, too. */
  public void judgeBy(Supplier<Attainment.Objectives> counts) {
    places.forEach(place -> place.switcher.sharing().judgeBy(counts));
  }

  /** How the weights kept in host memory have been used. */
  public HostTier.Statistics hostTier() {
    return hostTier.statistics();
  }

  /**
   * What serves from the only device.
   *
   * @throws IllegalStateException when there are several
   */
  public Switcher only() {
    if (places.size() != 1) {
      throw new IllegalStateException("there is not one device: " + memory().keySet());
    }
    return places.getFirst().switcher;
  }

  /** ONNX Runtime's version. */
  public String runtimeVersion() {
    return places.getFirst().switcher.runtimeVersion();
  }

  /** Checks every invariant of every device's accounts. */
  public void verify() {
    places.forEach(place -> place.switcher.verify());
  }

  /**
   * Takes no more requests and waits for those that were taken.
   *
   * @return whether all of them have ended in time
   */
  public boolean drain(Duration timeout) {
    long deadline = System.nanoTime() + timeout.toNanos();
    boolean ended = true;
    for (Place place : places) {
      long rest = Math.max(0, deadline - System.nanoTime());
      ended &= place.switcher.drain(Duration.ofNanos(rest));
    }
    return ended;
  }
}
