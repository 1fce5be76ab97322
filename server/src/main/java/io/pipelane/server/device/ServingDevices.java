package io.pipelane.server.device;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.config.section.PlacementConfig;
import io.pipelane.lanes.process.ProcessSessionFactory;
import io.pipelane.lanes.process.WorkersOverview;
import io.pipelane.modelstore.ImportedModel;
import io.pipelane.modelstore.ModelVersion;
import io.pipelane.modelstore.host.HostTier;
import io.pipelane.modelstore.repository.ModelOptions;
import io.pipelane.modelstore.repository.ModelOptions.Priority;
import io.pipelane.server.metrics.DeviceState;
import io.pipelane.server.placement.DeviceReading;
import io.pipelane.switcher.InferenceRequest;
import io.pipelane.switcher.InferenceService;
import io.pipelane.switcher.MemoryOverview;
import io.pipelane.switcher.ResultHandler;
import io.pipelane.switcher.SequenceState;
import io.pipelane.switcher.SequenceStep;
import io.pipelane.switcher.SpanningModels;
import io.pipelane.switcher.Switcher;
import io.pipelane.switcher.memory.account.Demand;
import io.pipelane.switcher.placement.LosableSessions;
import io.pipelane.switcher.placement.MemberOverview;
import io.pipelane.switcher.placement.SwitcherGroup;
import io.pipelane.switcher.sharing.monitor.SampleRing;
import java.time.Duration;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Consumer;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * The devices together, as one service, with the host memory that their weights come from.
 *
 * <p>Safe for any thread; what blocks in {@link Switcher} blocks here.
 */
public final class ServingDevices implements InferenceService, AutoCloseable {
  private static final String GOES_ON =
      "the content before answers the sequences that began with it; unload ends them";

  private final List<Place> places;
  private final SwitcherGroup group;
  private final HostTier hostTier;
  private final StructureSharing structures;

  /** The latest editions of versions whose content was replaced, by what clients call them. */
  private final Map<ModelVersion, ModelVersion> editions = new ConcurrentHashMap<>();

  private final EarlierContents earlier;

  /**
   * A device and what serves from it.
   *
   * @param name what people call it, no two alike
   * @param workers the processes that its models run in; null where they run in this one
   * @param losable has it be lost on demand; null for an only device
   */
  record Place(
      String name,
      Switcher switcher,
      @Nullable ProcessSessionFactory workers,
      @Nullable LosableSessions losable) {}

  /**
   * The devices as one.
   *
   * @param firstRuns after which a session has loaded and captured what it keeps
   * @param structures which models share sessions and addresses
   */
  ServingDevices(
      List<Place> places,
      HostTier hostTier,
      PlacementConfig placement,
      int firstRuns,
      StructureSharing structures) {
    this.structures = structures;
    this.places = List.copyOf(places);
    this.hostTier = hostTier;
    Map<String, Switcher> switchers = new LinkedHashMap<>();
    places.forEach(place -> switchers.put(place.name, place.switcher));
    this.group = new SwitcherGroup(switchers, placement, firstRuns, System::nanoTime);
    this.earlier = new EarlierContents(sequencesOf(group), System::nanoTime);
  }

  private static EarlierContents.Sequences sequencesOf(SwitcherGroup group) {
    return new EarlierContents.Sequences() {
      @Override
      public boolean areOf(ModelVersion content) {
        return group.hasSequences(content);
      }

      @Override
      public void end(ModelVersion content, SequenceStep step) {
        group.endSequence(content, step.owner(), step.id());
      }
    };
  }

  /**
   * Makes a model answerable; blocks.
   *
   * @param options how its owner wants its requests to wait and to be run together
   * @throws StatusException as {@link SwitcherGroup#register}; nothing is left then
   */
  public void register(ImportedModel model, ModelOptions options) {
    registering(model, prepared -> group.register(prepared, options));
  }

  /** From now on a content answers for whoever names its version without saying which content. */
  public void answers(ModelVersion version) {
    if (version.edition() > 0) {
      editions.put(version.anyEdition(), version);
    }
  }

  /**
   * Makes a model answerable as {@link #register(ImportedModel, ModelOptions)} does, but without a
   * session; see {@link SwitcherGroup#announce}.
   */
  public void announce(ImportedModel model, ModelOptions options) {
    registering(model, prepared -> group.announce(prepared, options));
  }

  private void registering(ImportedModel model, Consumer<ImportedModel> registration) {
    hostTier.prepare(model.weights(), model.plan().weightBytes());
    ImportedModel begun = structures.begun(model, places.stream().map(Place::switcher).toList());
    try {
      registration.accept(begun);
    } finally {
      structures.ended(begun);
    }
  }

  /** Builds the session of an announced model; see {@link SwitcherGroup#buildAhead}. */
  public boolean buildAhead(ModelVersion version) {
    return group.buildAhead(version);
  }

  /**
   * How often each model is asked for, under any of its contents; see {@link SwitcherGroup#uses}.
   */
  public Map<ModelVersion, Double> uses() {
    Map<ModelVersion, Double> uses = new HashMap<>();
    group.uses().forEach((version, use) -> uses.merge(version.anyEdition(), use, Math::max));
    return uses;
  }

  /** Has a registered model's requests be treated otherwise from now on. */
  public void agree(ImportedModel model, ModelOptions options) {
    group.agree(model, options);
  }

  /**
   * Takes a model out, and the content that is kept beside it; blocks until its runs have ended.
   *
   * @throws StatusException {@link Status#NOT_FOUND} when it is not registered
   */
  public void deregister(ModelVersion version) {
    try {
      deregisterEarlier(version);
    } finally {
      boolean _ = editions.remove(version.anyEdition(), version);
      group.deregister(version);
    }
  }

  /**
   * From now on a content goes on with the sequences that it has begun, beside the one that follows
   * it, until {@link #deregisterEarlier} is called for that.
   */
  public void keepForSequences(ModelVersion current, ModelVersion next) {
    earlier.keep(current, next);
  }

  /** Takes out the content that is kept beside a model, if one is; blocks. */
  public void deregisterEarlier(ModelVersion latest) {
    earlier.remove(latest).ifPresent(group::deregister);
  }

  /** The same for one that no sequence may have any more. */
  public void deregisterIdle(ModelVersion latest) {
    if (earlier.isIdleBeside(latest)) {
      deregisterEarlier(latest);
    }
  }

  /** Models beside which a content is kept that no sequence may have any more. */
  public List<ModelVersion> besideIdle() {
    return earlier.idle();
  }

  /** What answers for a version that was named without saying which content of it. */
  private ModelVersion latest(ModelVersion version) {
    return version.edition() == 0 ? editions.getOrDefault(version, version) : version;
  }

  /** Models that span the devices. */
  public SpanningModels spans() {
    return group.spans();
  }

  /** Whether one device at least can answer. */
  @Override
  public boolean isUsable() {
    return group.isUsable();
  }

  /** Brings a model's weights onto its home; see {@link Switcher#warmUp}. */
  public void warmUp(ModelVersion version) {
    group.warmUp(version);
  }

  /** Has a model count as used once, and just now, whatever it has run. */
  public void forgetUses(ModelVersion version, Priority priority) {
    group.forgetUses(version, priority);
  }

  /** Says that a model will be asked soon; see {@link Switcher#wish}. */
  public void wish(ModelVersion version, Optional<Duration> within, Priority priority) {
    group.wish(version, within, priority);
  }

  /** Takes a model's weights off every device; see {@link Switcher#evict}. */
  public void evict(ModelVersion version) {
    group.evict(latest(version));
  }

  /**
   * What a run of a model would wait for weights if it began now, on the best of its devices; 0 for
   * one that is not in service.
   */
  public long stallNanos(ModelVersion version) {
    return group.stallNanos(latest(version));
  }

  /** Runs that compute at once, of all devices that are not lost; 1 where all are. */
  public int lanes() {
    int lanes = 0;
    for (Place place : places) {
      lanes += place.switcher.isUsable() ? place.switcher.lanes() : 0;
    }
    return Math.max(1, lanes);
  }

  @Override
  public Ticket submit(InferenceRequest request, ResultHandler handler) {
    return earlier.submit(request, handler, group::submit, group::submit);
  }

  @Override
  public Hold hold(ModelVersion version) {
    Hold latest = group.hold(version);
    return earlier.beside(version).isPresent() ? new HoldOfLatest(latest) : latest;
  }

  /** A version that is held beside the content before it. */
  private final class HoldOfLatest implements Hold {
    private final Hold latest;

    HoldOfLatest(Hold latest) {
      this.latest = latest;
    }

    @Override
    public Ticket submit(InferenceRequest request, ResultHandler handler) {
      return earlier.submit(request, handler, latest, group::submit);
    }

    @Override
    public void close() {
      latest.close();
    }
  }

  /** Also one that goes on with the content before: a job's name for it is no other sequence's. */
  @Override
  public Optional<SequenceState> sequence(ModelVersion model, String id) {
    ModelVersion latest = latest(model);
    return group
        .sequence(latest, id)
        .or(() -> earlier.beside(latest).flatMap(before -> group.sequence(before, id)));
  }

  /**
   * Why requests for a version are refused at present, if they are; for any thread, and at once.
   */
  public Optional<String> quarantine(ModelVersion version) {
    return group.quarantine(version);
  }

  /** Lets requests for a version that was refused be tried again. */
  public void trust(ModelVersion version) {
    group.trust(version);
  }

  /** The devices that a model has, its home first, by name; none when it is not in service. */
  public List<String> devices(ModelVersion version) {
    return group.devices(latest(version));
  }

  /** See {@link SwitcherGroup#devicesThatCanServe}. */
  public List<String> devicesThatCanServe(ModelVersion version) {
    return group.devicesThatCanServe(latest(version));
  }

  /**
   * Has a device be lost, as one that fell off the bus: what runs there fails from now on, and is
   * answered by others. For drills; nothing but a new process brings it back.
   *
   * @throws IllegalArgumentException when there is no such device, or no other one
   */
  public void lose(String device) {
    places.stream()
        .filter(place -> place.name.equals(device))
        .flatMap(place -> Stream.ofNullable(place.losable))
        .findFirst()
        .orElseThrow(() -> new IllegalArgumentException("it cannot be lost: " + device))
        .lose();
  }

  @Override
  public WorkersOverview workers() {
    return processes()
        .map(ProcessSessionFactory::workers)
        .reduce(WorkersOverview.NONE, WorkersOverview::and);
  }

  @Override
  public Map<String, List<SampleRing.Timed>> samples() {
    Map<String, List<SampleRing.Timed>> kept = new LinkedHashMap<>();
    places.forEach(place -> kept.put(place.name, place.switcher.sharing().samples().kept()));
    return kept;
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
    return earlier.beside(version).isPresent()
        ? Stream.concat(group.notes(version).stream(), Stream.of(GOES_ON)).toList()
        : group.notes(version);
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
    Map<String, MemberOverview> members = group.overview();
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
              switcher.answerEstimateError(),
              switcher.preemptions(),
              switcher.lanesInService(),
              switcher.shortRuns(),
              switcher.states(),
              switcher.kept(),
              switcher.sharing().overview(),
              switcher.retries(),
              Objects.requireNonNull(members.get(place.name))));
    }
    return states;
  }

  /** What placement of offline jobs looks at, of every device. */
  public List<DeviceReading> readings() {
    Map<String, MemberOverview> members = group.overview();
    return places.stream()
        .map(
            place ->
                DeviceReading.of(
                    place.name,
                    Objects.requireNonNull(members.get(place.name)),
                    place.switcher.sharing().overview()))
        .toList();
  }

  /** How much models are asked for of which a device lacks something, by device. */
  List<Demand> demands() {
    return places.stream().flatMap(place -> place.switcher.appraisal().demands().stream()).toList();
  }

  /** Whether no device has anything to do. */
  public boolean isIdle() {
    return places.stream().allMatch(place -> place.switcher.isIdle());
  }

  /** How many devices there are, lost ones included. */
  public int count() {
    return places.size();
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

  /** See {@link Switcher#beginDrain}. */
  public void beginDrain() {
    places.forEach(place -> place.switcher.beginDrain());
  }

  /** See {@link Switcher#releaseOffline}. */
  public void releaseOffline() {
    places.forEach(place -> place.switcher.releaseOffline());
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

  /** Changes no model's devices any more; before the switchers are closed. */
  @Override
  public void close() {
    group.close();
  }
}
