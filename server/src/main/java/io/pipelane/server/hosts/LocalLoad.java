package io.pipelane.server.hosts;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.lanes.process.WorkersOverview;
import io.pipelane.modelstore.ModelVersion;
import io.pipelane.modelstore.repository.ModelOptions.Priority;
import io.pipelane.switcher.ForwardingHandler;
import io.pipelane.switcher.InferenceRequest;
import io.pipelane.switcher.InferenceService;
import io.pipelane.switcher.InferenceTimings;
import io.pipelane.switcher.ResultHandler;
import io.pipelane.switcher.SequenceState;
import io.pipelane.switcher.sharing.monitor.SampleRing;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.IntSupplier;
import java.util.function.ToLongFunction;

/**
 * The load of this host: passes requests on, and counts how long those that have not ended were
 * expected to take. Online ones only: they pass the others. What fails because no device is left
 * here is {@link Status#UNAVAILABLE}, as another host may do better. Safe for any thread.
 */
public final class LocalLoad implements InferenceService {
  private static final int SMOOTHING = 16;

  private final InferenceService devices;
  private final ToLongFunction<ModelVersion> stallNanos;
  private final IntSupplier lanes;
  private final AtomicInteger requests = new AtomicInteger();
  private final AtomicLong expectedNanos = new AtomicLong();
  private final AtomicLong runNanos = new AtomicLong();
  private final Map<ModelVersion, Integer> underWay = new ConcurrentHashMap<>();

  /**
   * Nothing to do.
   *
   * @param stallNanos what a run of a model would wait for weights if it began now; asked often
   * @param lanes runs that compute at once, of all devices that are not lost; 1 at least
   */
  public LocalLoad(
      InferenceService devices, ToLongFunction<ModelVersion> stallNanos, IntSupplier lanes) {
    this.devices = devices;
    this.stallNanos = stallNanos;
    this.lanes = lanes;
  }

  /** Runs that compute at once. */
  int lanes() {
    return lanes.getAsInt();
  }

  /** How long a request that came now would wait for a lane; nothing while one is free. */
  long waitNanos() {
    int now = lanes();
    return requests.get() < now ? 0 : Math.max(0, expectedNanos.get() / now);
  }

  /** What a run takes, its stall left out: of all models, the later ones counting most. */
  long runNanos() {
    return runNanos.get();
  }

  /** What a run of a model would wait for weights if it began now. */
  long stallNanos(ModelVersion model) {
    return stallNanos.applyAsLong(model);
  }

  @Override
  public Ticket submit(InferenceRequest request, ResultHandler handler) {
    return submit(request, handler, devices::submit);
  }

  @Override
  public Hold hold(ModelVersion version) {
    Hold held = devices.hold(version);
    return new Hold() {
      @Override
      public Ticket submit(InferenceRequest request, ResultHandler handler) {
        return LocalLoad.this.submit(request, handler, held);
      }

      @Override
      public void close() {
        held.close();
      }
    };
  }

  private Ticket submit(InferenceRequest request, ResultHandler handler, Hold next) {
    ResultHandler told = new Told(this, handler);
    try {
      return request.priority() == Priority.ONLINE
          ? submitCounted(request, told, next)
          : next.submit(request, told);
    } catch (StatusException e) {
      throw ofHost(e);
    }
  }

  private Ticket submitCounted(InferenceRequest request, ResultHandler handler, Hold next) {
    Counted counted = new Counted(handler, request.model());
    try {
      return next.submit(request, counted);
    } catch (RuntimeException | Error e) {
      counted.ended();
      throw e;
    }
  }

  /** What a failure means for who may ask another host. */
  private StatusException ofHost(StatusException error) {
    boolean mayBeOfDevices =
        switch (error.status()) {
          case DEVICE_FAILURE, INTERNAL, INVALID_ARGUMENT -> true;
          default -> false;
        };
    return mayBeOfDevices && !devices.isUsable()
        ? StatusException.unavailable(
            "every device of this host is lost, restart its server: " + error.getMessage(), error)
        : error;
  }

  /**
   * A handler that says of a failure what it means for the host.
   *
   * @param handler told that
   */
  private record Told(LocalLoad load, ResultHandler handler) implements ForwardingHandler {
    @Override
    public void failed(StatusException error) {
      handler.failed(load.ofHost(error));
    }
  }

  /** A handler that tells the load of a request's end before the request's own handler. */
  private final class Counted implements ForwardingHandler {
    private final ResultHandler handler;
    private final ModelVersion model;
    private final long expected;

    /** Those of a model wait for its weights together: the first one's stall is that of all. */
    Counted(ResultHandler handler, ModelVersion model) {
      this.handler = handler;
      this.model = model;
      boolean isFirst = underWay.merge(model, 1, Integer::sum) == 1;
      this.expected = runNanos.get() + (isFirst ? stallNanos(model) : 0);
      requests.incrementAndGet();
      expectedNanos.addAndGet(expected);
    }

    @Override
    public ResultHandler handler() {
      return handler;
    }

    void ended() {
      underWay.computeIfPresent(model, (_, count) -> count > 1 ? count - 1 : null);
      requests.decrementAndGet();
      expectedNanos.addAndGet(-expected);
    }

    @Override
    public void completed(InferenceTimings timings) {
      ended();
      long run = timings.computedNanos();
      runNanos.updateAndGet(mean -> mean == 0 ? run : mean + (run - mean) / SMOOTHING);
      handler.completed(timings);
    }

    @Override
    public void failed(StatusException error) {
      ended();
      handler.failed(error);
    }
  }

  @Override
  public Optional<SequenceState> sequence(ModelVersion model, String id) {
    return devices.sequence(model, id);
  }

  @Override
  public boolean isUsable() {
    return devices.isUsable();
  }

  @Override
  public Map<String, List<SampleRing.Timed>> samples() {
    return devices.samples();
  }

  @Override
  public WorkersOverview workers() {
    return devices.workers();
  }

  @Override
  public CompletableFuture<Void> recycle(int worker) {
    return devices.recycle(worker);
  }
}
