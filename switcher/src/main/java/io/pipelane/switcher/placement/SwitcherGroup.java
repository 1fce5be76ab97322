package io.pipelane.switcher.placement;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.config.section.PlacementConfig;
import io.pipelane.lanes.Releases;
import io.pipelane.modelstore.ImportedModel;
import io.pipelane.modelstore.ModelVersion;
import io.pipelane.modelstore.repository.ModelOptions;
import io.pipelane.modelstore.repository.ModelOptions.Priority;
import io.pipelane.switcher.InferenceRequest;
import io.pipelane.switcher.InferenceService;
import io.pipelane.switcher.ResultHandler;
import io.pipelane.switcher.SequenceState;
import io.pipelane.switcher.SpanningModels;
import io.pipelane.switcher.Switcher;
import io.pipelane.switcher.residency.Usage;
import java.lang.System.Logger.Level;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.LongSupplier;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Devices of one kind as one service. A model has one of them, or several while that saves waiting;
 * requests go to the one that is predicted to answer first, and to others when it is lost.
 *
 * <p>Safe for any thread; what blocks in {@link Switcher} blocks here. With one device nothing is
 * predicted, counted or retried.
 */
public final class SwitcherGroup implements InferenceService, AutoCloseable {
  /*
   * A model is registered on every device, but its session is built and its weights are brought in
   * only where it has its home. Elsewhere it takes addresses alone, and can take over at once when
   * devices are lost. `Route` holds its devices; requests read it without a lock.
   */
  private static final System.Logger LOG = System.getLogger(SwitcherGroup.class.getName());

  private final List<Member> members;
  private final @Nullable Switcher only;
  private final HomePlacement homes;
  private final Map<ModelVersion, Route> routes = new ConcurrentHashMap<>();
  private final GroupRegistration registration;
  private final Router router;
  private final Spans spans;
  private final @Nullable MovingSequences sequences;
  private final PlacementConfig config;
  private final LongSupplier nanoClock;
  private final @Nullable Reviews reviews;

  /**
   * A group without models.
   *
   * @param switchers by the devices' names, no two alike; stay the caller's to close, afterwards
   * @param firstRuns after which a session has loaded and captured what it keeps
   * @param nanoClock counts how long replicas are there
   */
  public SwitcherGroup(
      Map<String, Switcher> switchers,
      PlacementConfig config,
      int firstRuns,
      LongSupplier nanoClock) {
    List<Member> opened = new ArrayList<>();
    switchers.forEach((name, switcher) -> opened.add(new Member(opened.size(), name, switcher)));
    this.members = List.copyOf(opened);
    this.only = members.size() == 1 ? members.getFirst().switcher : null;
    this.homes = new HomePlacement(members.size());
    this.registration = new GroupRegistration(members, homes);
    this.spans = new Spans(members, this::confine, this::asked);
    this.router =
        new Router(
            members, config.routing(), Reviews.runAhead(members, config), spans::letGo, nanoClock);
    this.sequences = only == null ? moving(nanoClock) : null;
    this.config = config;
    this.nanoClock = nanoClock;
    if (only == null) {
      members.forEach(
          member -> member.switcher.keepOnlyFor(version -> hasDevice(version, member.index)));
      this.reviews = new Reviews(members, routes, this::uses, config, firstRuns, nanoClock);
    } else {
      this.reviews = null;
    }
  }

  private @Nullable MovingSequences moving(LongSupplier clock) {
    long hostBytes = members.stream().mapToLong(each -> each.switcher.hostStateBytes()).sum();
    return hostBytes == 0
        ? null
        : new MovingSequences(
            router, hostBytes, members.getFirst().switcher.waitingSteps().another(), clock);
  }

  private boolean hasDevice(ModelVersion version, int device) {
    @Nullable Route route = routes.get(version);
    return route != null && route.devices().contains(device);
  }

  /**
   * Makes a model answerable; blocks while a session is built on its home, the device with the
   * fewest bytes of weights of those that it fits.
   *
   * @param options how its owner wants its requests to wait and to be run together
   * @throws StatusException as {@link Switcher#register}, or {@link Status#DEVICE_FAILURE} when all
   *     devices are lost; nothing is left then
   */
  public void register(ImportedModel model, ModelOptions options) {
    register(model, options, home -> home.register(model, options));
  }

  /**
   * Makes a model answerable as {@link #register} does, but without a session: one is built when it
   * is needed first, or {@link #buildAhead ahead}.
   */
  public void announce(ImportedModel model, ModelOptions options) {
    register(model, options, home -> home.announce(model, options));
  }

  private void register(ImportedModel model, ModelOptions options, Consumer<Switcher> atHome) {
    ModelVersion version = model.version();
    if (members.stream().noneMatch(Member::isUsable)) {
      throw new StatusException(Status.DEVICE_FAILURE, "every device is lost; restart the server");
    }
    List<Integer> registered =
        registration.register(model, options, atHome, spans.placeOf(version.model()));
    routes.put(
        version,
        new Route(
            version,
            registered,
            !options.state().isEmpty(),
            members.size(),
            config.replicaHalfLife(),
            nanoClock.getAsLong()));
    confine(version.model(), spans.placeOf(version.model())); // It may have been said meanwhile.
  }

  /** Models that span the devices. */
  public SpanningModels spans() {
    return spans;
  }

  /** Has a model be on one device alone, and off all others; anywhere again where that is null. */
  private void confine(String model, @Nullable Member to) {
    for (Route route : routes.values()) {
      if (route.version.model().equals(model)) {
        route.confine(to == null ? route.registered : List.of(to.index));
        route.registered.stream()
            .map(members::get)
            .filter(member -> to != null && member != to && member.isUsable())
            .forEach(member -> takeOff(member, route.version));
      }
    }
  }

  private void asked(ModelVersion version, Member member) {
    @Nullable Route route = routes.get(version);
    if (route != null) {
      route.asked(member.index, nanoClock.getAsLong());
    }
  }

  /** Waits for nothing: a run, or a read that hangs, may have the weights. */
  private static void takeOff(Member member, ModelVersion version) {
    try {
      member.switcher.evictOnceIdle(version);
    } catch (StatusException e) { // It has been taken out meanwhile.
      LOG.log(Level.DEBUG, "{0} has left {1}: {2}", version, member.name, e.getMessage());
    }
  }

  /** Has a registered model's requests be treated otherwise from now on. */
  public void agree(ImportedModel model, ModelOptions options) {
    registered(model.version()).forEach(member -> member.switcher.agree(model, options));
  }

  /**
   * Takes a model out; blocks until its runs have ended.
   *
   * @throws StatusException {@link Status#NOT_FOUND} when it is not registered
   */
  public void deregister(ModelVersion version) {
    Route route = route(version);
    routes.remove(version);
    List<Member> having = route.registered.stream().map(members::get).toList();
    having.forEach(each -> unlessLost(each, version, () -> each.switcher.leave(version)));
    long end = System.nanoTime() + Switcher.LONGEST_LEAVING.toNanos(); // For all of them.
    try (Releases all = new Releases()) { // In reverse order.
      if (sequences != null) {
        all.add(version, sequences::forget);
      }
      all.add(version, homes::remove);
      for (Member each : having.reversed()) {
        all.add(each, it -> unlessLost(it, version, () -> it.switcher.remove(version, end)));
      }
    }
  }

  private static void unlessLost(Member member, ModelVersion version, Runnable step) {
    try {
      step.run();
    } catch (RuntimeException e) {
      if (member.isUsable()) {
        throw e;
      } // What a lost device still holds goes with the process.
      LOG.log(Level.DEBUG, "{0} stays on {1}: {2}", version, member.name, e.getMessage());
    }
  }

  private Route route(ModelVersion version) {
    @Nullable Route route = routes.get(version);
    if (route == null) {
      throw new StatusException(Status.NOT_FOUND, "model " + version + " is not in service");
    }
    return route;
  }

  private Stream<Member> registered(ModelVersion version) {
    return route(version).registered.stream().map(members::get);
  }

  /** The first device that a model has and that is not lost, or else the first. */
  private Switcher home(Route route) {
    List<Integer> devices = route.devices();
    for (int device : devices) {
      if (members.get(device).isUsable()) {
        return members.get(device).switcher;
      }
    }
    return members.get(devices.getFirst()).switcher;
  }

  private Switcher home(ModelVersion version) {
    return home(route(version));
  }

  private <T> T ofHome(ModelVersion version, Function<Switcher, T> question, T otherwise) {
    @Nullable Route route = routes.get(version);
    return route == null ? otherwise : question.apply(home(route));
  }

  /** Whether one device at least can answer. */
  @Override
  public boolean isUsable() {
    return members.stream().anyMatch(Member::isUsable);
  }

  /**
   * What a run of a model would wait for weights if it began now, on the best of its devices; 0 for
   * one that is not registered. At once, any thread.
   */
  public long stallNanos(ModelVersion version) {
    @Nullable Route route = routes.get(version);
    return route == null
        ? 0
        : route.devices().stream()
            .map(members::get)
            .filter(Member::isUsable)
            .mapToLong(member -> member.switcher.appraisal().stallNanos(version))
            .min()
            .orElse(0);
  }

  @Override
  public Ticket submit(InferenceRequest request, ResultHandler handler) {
    if (only != null) {
      return only.submit(request, handler);
    }
    return submit(route(request.model()), request, handler, member -> member.switcher::submit);
  }

  private Ticket submit(
      Route route,
      InferenceRequest request,
      ResultHandler handler,
      Function<Member, Hold> devices) {
    if (sequences != null && route.keepsState && MovingSequences.concerns(request)) {
      return sequences.submit(request, handler, route, devices);
    }
    RoutedRequest routed = new RoutedRequest(router, route, request, handler, devices);
    routed.submit();
    return routed;
  }

  @Override
  public Hold hold(ModelVersion version) {
    return only != null ? only.hold(version) : HeldRoute.of(route(version), members, this::submit);
  }

  @Override
  public Optional<SequenceState> sequence(ModelVersion model, String id) {
    @Nullable Route route = routes.get(model);
    if (route == null) {
      return Optional.empty();
    }
    // A step that named its device has its state there.
    return Stream.concat(
            Stream.of(home(route)),
            route.registered.stream()
                .map(members::get)
                .filter(Member::isUsable)
                .map(member -> member.switcher))
        .flatMap(switcher -> switcher.sequence(model, id).stream())
        .findFirst();
  }

  /** Ends an owner's sequence, wherever it is, once its step under way has ended; at once. */
  public void endSequence(ModelVersion model, String owner, String id) {
    if (sequences != null) {
      sequences.end(model, owner, id);
    }
    members.forEach(member -> member.switcher.endSequence(model, owner, id));
  }

  /** Whether a model has sequences on any device that steps may come for. */
  public boolean hasSequences(ModelVersion model) {
    return (sequences != null && sequences.hasAny(model))
        || members.stream()
            .filter(Member::isUsable)
            .anyMatch(member -> member.switcher.hasSequences(model));
  }

  /** Host memory for what sequences go on from when their device is lost. */
  public long sequenceLogBytes() {
    return sequences == null ? 0 : sequences.room().takenBytes();
  }

  /**
   * Builds the session of an announced model on its home; see {@link
   * io.pipelane.switcher.StandingSessions#buildAhead}.
   */
  public boolean buildAhead(ModelVersion version) {
    return home(version).standing().buildAhead(version);
  }

  /**
   * How often each model is asked for, on all devices together: the natural logarithm of a count
   * that fades; see {@link io.pipelane.switcher.memory.Appraisal#uses}.
   */
  public Map<ModelVersion, Double> uses() {
    Map<ModelVersion, Double> uses = new HashMap<>();
    members.forEach(
        member ->
            member
                .switcher
                .appraisal()
                .uses()
                .forEach((version, logarithm) -> uses.merge(version, logarithm, Usage::sum)));
    return uses;
  }

  /** Brings a model's weights onto its home; see {@link Switcher#warmUp}. */
  public void warmUp(ModelVersion version) {
    home(version).warmUp(version);
  }

  /** Has a model count as used once on its home; see {@link Switcher#forgetUses}. */
  public void forgetUses(ModelVersion version, Priority priority) {
    home(version).forgetUses(version, priority);
  }

  /** Says that a model will be asked soon; see {@link Switcher#wish}. */
  public void wish(ModelVersion version, Optional<Duration> within, Priority priority) {
    home(version).wish(version, within, priority);
  }

  /** Takes a model's weights off every device; see {@link Switcher#evict}. */
  public void evict(ModelVersion version) {
    registered(version).forEach(member -> member.switcher.evict(version));
  }

  /**
   * Why requests for a version are refused at present by every device that it has, if they are; any
   * thread, and at once.
   */
  public Optional<String> quarantine(ModelVersion version) {
    @Nullable Route route = routes.get(version);
    if (route == null) {
      return Optional.empty();
    }
    Optional<String> reason = Optional.empty();
    for (int device : route.devices()) {
      Member member = members.get(device);
      if (member.isUsable()) {
        reason = member.switcher.quarantine(version);
        if (reason.isEmpty()) {
          return reason;
        }
      }
    }
    return reason;
  }

  /** Lets requests for a version that was refused be tried again. */
  public void trust(ModelVersion version) {
    registered(version).forEach(member -> member.switcher.trust(version));
  }

  /** What a version's owner should know of how it runs at present; any thread, and at once. */
  public List<String> notes(ModelVersion version) {
    return ofHome(version, switcher -> switcher.notes(version), List.of());
  }

  /**
   * The devices that a model has, its home first, by name; none when it is not registered. Lost
   * ones count where it has no other.
   */
  public List<String> devices(ModelVersion version) {
    @Nullable Route route = routes.get(version);
    if (route == null) {
      return List.of();
    }
    List<Member> had = route.devices().stream().map(members::get).toList();
    List<Member> usable = had.stream().filter(Member::isUsable).toList();
    return (usable.isEmpty() ? had : usable).stream().map(member -> member.name).toList();
  }

  /**
   * The devices that can answer for a model, whether they have it at present or not: those that it
   * is not too large for, and that are not lost; by name. None when it is not registered.
   */
  public List<String> devicesThatCanServe(ModelVersion version) {
    @Nullable Route route = routes.get(version);
    if (route == null) {
      return List.of();
    }
    List<String> names = usableCandidates(route);
    return names.isEmpty() && spans.letGo(version.model()) ? usableCandidates(route) : names;
  }

  private List<String> usableCandidates(Route route) {
    return route.candidates().stream()
        .map(members::get)
        .filter(Member::isUsable)
        .map(member -> member.name)
        .toList();
  }

  /** Every device, by name. */
  public Map<String, MemberOverview> overview() {
    Map<String, MemberOverview> overviews = new LinkedHashMap<>();
    for (Member member : members) {
      boolean usable = member.isUsable();
      List<Route> here = usable ? routesOf(member) : List.of();
      overviews.put(
          member.name,
          new MemberOverview(
              usable,
              here.size(),
              (int) here.stream().filter(route -> usableDevices(route) > 1).count(),
              usable ? member.switcher.peers().lodgers().size() : 0,
              member.routed.sum(),
              member.lostRuns.sum(),
              member.online.overview(),
              member.offline.overview()));
    }
    return overviews;
  }

  private List<Route> routesOf(Member member) {
    return routes.values().stream()
        .filter(route -> route.devices().contains(member.index))
        .toList();
  }

  private long usableDevices(Route route) {
    return route.devices().stream().filter(device -> members.get(device).isUsable()).count();
  }

  /** Changes no model's devices any more; the switchers are still open. */
  @Override
  public void close() {
    if (reviews != null) {
      reviews.close();
    }
    if (sequences != null) {
      sequences.close();
    }
  }
}
