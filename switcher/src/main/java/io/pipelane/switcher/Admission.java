package io.pipelane.switcher;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.modelstore.ModelVersion;
import io.pipelane.modelstore.repository.ModelOptions.Priority;
import io.pipelane.switcher.InferenceService.Hold;
import io.pipelane.switcher.InferenceService.Ticket;
import io.pipelane.switcher.schedule.queue.RequestQueue;
import io.pipelane.switcher.schedule.run.Execution;
import io.pipelane.switcher.schedule.run.FetchAheadThread;
import io.pipelane.switcher.sequence.Sequences;
import io.pipelane.switcher.sharing.ObjectiveCounts;
import io.pipelane.switcher.sharing.gate.OfflineGate;
import io.pipelane.switcher.sharing.gate.OnlineCost;
import io.pipelane.switcher.sharing.gate.OnlineWork;
import java.lang.System.Logger.Level;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.LongSupplier;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * The versions in service, and the way of a request for one of them to its run: at once, or by its
 * sequence, into the queue. Safe for any thread.
 */
final class Admission implements AutoCloseable {
  private static final System.Logger LOG = System.getLogger(Admission.class.getName());

  private final Sequences sequences;
  private final RequestQueue queue;
  private final Execution execution;
  private final OnlineCost cost;
  private final OnlineWork online;
  private final ObjectiveCounts objectives;
  private final Optional<FetchAheadThread> fetchAhead;
  private final LongSupplier clock;

  /** A version is registered anew only when nothing is left of it. */
  private final Map<ModelVersion, InService> services = new ConcurrentHashMap<>();

  /** Nothing is in service yet. */
  Admission(
      Sequences sequences,
      RequestQueue queue,
      Execution execution,
      OfflineGate gate,
      ObjectiveCounts objectives,
      Optional<FetchAheadThread> fetchAhead,
      LongSupplier clock) {
    this.sequences = sequences;
    this.queue = queue;
    this.execution = execution;
    this.cost = gate.cost();
    this.online = gate.online();
    this.objectives = objectives;
    this.fetchAhead = fetchAhead;
    this.clock = clock;
  }

  /**
   * A version is on its way into service; it answers once that is {@link InService#open}.
   *
   * @throws IllegalStateException when the version is there, or something is left of it
   */
  InService enter(ModelVersion version) {
    InService service = new InService();
    if (services.putIfAbsent(version, service) != null) {
      throw new IllegalStateException(version + " is registered already");
    }
    return service;
  }

  /**
   * Takes no more requests for a version, but its holders'.
   *
   * @throws StatusException {@link Status#NOT_FOUND} when it is not in service
   */
  void leave(ModelVersion version) {
    @Nullable InService service = services.get(version);
    if (service == null || !service.leave()) {
      throw notRegistered(version);
    }
  }

  /** Waits until nobody asks a version any more that has left; see {@link InService#awaitNone}. */
  void awaitNone(ModelVersion version, long endNanos) {
    Objects.requireNonNull(services.get(version), "it has left")
        .awaitNone(
            endNanos,
            () ->
                LOG.log(
                    Level.INFO,
                    "{0} leaves once the session that is being built of it is ready",
                    version));
  }

  /** Nothing is left of a version, once its sequences' steps have ended. */
  void forget(ModelVersion version) {
    try {
      sequences.forget(version);
    } finally {
      services.remove(version);
    }
  }

  /** Forgets all; nobody asks anything any more. */
  @Override
  public void close() {
    services.keySet().forEach(this::forget);
  }

  /** See {@link InferenceService#submit}. */
  Ticket submit(InferenceRequest request, ResultHandler handler) {
    return submit(request, handler, inService(request.model()), InService::isOpen);
  }

  private Ticket submit(
      InferenceRequest request,
      ResultHandler handler,
      InService service,
      Predicate<InService> answers) {
    boolean keepsState = sequences.keepsState(request.model());
    if (request.priority() == Priority.OFFLINE) {
      return takenOffline(request, keepsState, handler, service, answers);
    }
    long now = clock.getAsLong();
    online.arrived(now);
    ResultHandler judged =
        cost.comparing(request, objectives.judging(request, handler, clock), now);
    if (!keepsState && execution.runAtOnce(request, judged, now)) {
      return Ticket.ENDED;
    }
    return service.count(
        judged,
        told -> {
          if (!answers.test(
              service)) { // It has begun to leave; one of its name may have come since.
            throw notRegistered(request.model());
          }
          return taken(request, keepsState, told);
        });
  }

  /**
   * Offline requests are not waited for, but for their way into a line: there is none any more once
   * the version has left.
   */
  private Ticket takenOffline(
      InferenceRequest request,
      boolean keepsState,
      ResultHandler handler,
      InService service,
      Predicate<InService> answers) {
    service.begin();
    try {
      if (!answers.test(service)) {
        throw notRegistered(request.model());
      }
      return taken(request, keepsState, handler);
    } finally {
      service.ended();
    }
  }

  /** See {@link InferenceService#hold}. */
  Hold hold(ModelVersion version) {
    InService service = inService(version);
    if (!service.hold()) {
      throw notRegistered(version);
    }
    return new HeldVersion(service);
  }

  /**
   * Builds something of a version, which stays in service as long as that takes.
   *
   * @throws StatusException {@link Status#NOT_FOUND} when it is not in service; nothing is built
   */
  void build(ModelVersion version, Runnable work) {
    if (!inService(version).build(work)) {
      throw notRegistered(version);
    }
  }

  /** A version that counts its holder as one of its requests. */
  private final class HeldVersion implements Hold {
    private final InService service;
    private final AtomicBoolean closed = new AtomicBoolean();

    HeldVersion(InService service) {
      this.service = service;
    }

    @Override
    public Ticket submit(InferenceRequest request, ResultHandler handler) {
      if (!service.isThere()) {
        throw notRegistered(request.model());
      }
      return Admission.this.submit(request, handler, service, InService::isThere);
    }

    @Override
    public void close() {
      if (!closed.getAndSet(true)) {
        service.ended();
      }
    }
  }

  private InService inService(ModelVersion version) {
    @Nullable InService service = services.get(version);
    if (service == null || !service.isOpen()) {
      throw notRegistered(version);
    }
    return service;
  }

  private Ticket taken(InferenceRequest request, boolean keepsState, ResultHandler handler) {
    return keepsState ? sequences.submit(request, handler) : queued(request, handler);
  }

  /** Takes a request to the queue, for runs and a sequence's steps alike. */
  Ticket queued(InferenceRequest request, ResultHandler handler) {
    Ticket ticket = admitted(request, handler);
    fetchAhead.ifPresent(
        thread -> {
          if (queue.hasBacklog()) { // An idle lane brings in what it needs itself.
            thread.wakeFor(request.model());
          }
        });
    return ticket;
  }

  private Ticket admitted(InferenceRequest request, ResultHandler handler) {
    boolean isOnline = request.priority() == Priority.ONLINE;
    ResultHandler told = isOnline ? online.begin(handler) : handler;
    Ticket ticket;
    try {
      ticket = queue.submit(request, told);
    } catch (RuntimeException | Error e) {
      if (isOnline) {
        online.end();
      }
      throw e;
    }
    execution.requestCame(); // In line, it is ended by its handler alone.
    return ticket;
  }

  private static StatusException notRegistered(ModelVersion version) {
    return new StatusException(Status.NOT_FOUND, "model " + version + " is not in service");
  }
}
