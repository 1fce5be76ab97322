package io.pipelane.server.http;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.lanes.execution.InputTensor;
import io.pipelane.lanes.process.WorkersOverview;
import io.pipelane.switcher.InferenceRequest;
import io.pipelane.switcher.InferenceService;
import io.pipelane.switcher.InferenceTimings;
import io.pipelane.switcher.ResultHandler;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.Executor;
import org.jspecify.annotations.Nullable;

/**
 * Answers each input {@code x} as output {@code y_x}, at once, or when the test says so. A request
 * is checked to end while its inputs can still be read.
 */
public final class EchoService implements InferenceService, AutoCloseable {
  private static final InferenceTimings TIMINGS = new InferenceTimings(1, 2, 3);

  public final List<Pending> pending = new CopyOnWriteArrayList<>();
  private final Executor lane;
  boolean holds;

  /** Whether what is withdrawn ends, as what has not begun to run does. */
  public boolean endsWithdrawn;

  public @Nullable RuntimeException refusal;
  public volatile boolean usable = true;
  WorkersOverview workers = WorkersOverview.NONE;

  /** What a request fails on that nobody foresaw, once. */
  public @Nullable Error fault;

  public EchoService(Executor lane) {
    this.lane = lane;
  }

  public static EchoService inline() {
    return new EchoService(Runnable::run);
  }

  /** Requests wait for {@link Pending#complete}. */
  public static EchoService holding() {
    EchoService service = inline();
    service.holds = true;
    return service;
  }

  /** One from which a version has gone that the catalogue had until it was asked. */
  public static InferenceService without(FakeCatalog catalog, long gone) {
    EchoService echo = inline();
    return (request, handler) -> {
      if (request.model().version() != gone) {
        return echo.submit(request, handler);
      }
      catalog.leave(request.model().model());
      throw new StatusException(Status.NOT_FOUND, "version " + gone + " has gone");
    };
  }

  @Override
  public WorkersOverview workers() {
    return workers;
  }

  @Override
  public boolean isUsable() {
    return usable;
  }

  @Override
  public Ticket submit(InferenceRequest request, ResultHandler handler) {
    if (refusal != null) {
      throw refusal;
    }
    Error thrown = fault;
    fault = null;
    if (thrown != null) {
      throw thrown;
    }
    Pending entry = new Pending(request, handler);
    if (!hold(entry)) {
      lane.execute(entry::complete);
    }
    return entry;
  }

  /** Has it wait for the test, if that is wanted. */
  private synchronized boolean hold(Pending entry) {
    return holds && pending.add(entry);
  }

  /**
   * Answers what is held, and holds nothing any more: who waits for it is not to hide a failure.
   */
  @Override
  public void close() {
    synchronized (this) {
      holds = false;
    }
    for (Pending entry : List.copyOf(pending)) {
      if (pending.remove(entry)) {
        entry.complete();
      }
    }
  }

  public final class Pending implements Ticket {
    final InferenceRequest request;
    private final ResultHandler handler;
    private volatile boolean cancelled;

    Pending(InferenceRequest request, ResultHandler handler) {
      this.request = request;
      this.handler = handler;
    }

    public void complete() {
      for (String output : request.outputs()) {
        place(output);
      }
      handler.completed(TIMINGS);
    }

    /** Answers the only output with other bytes than the input's. */
    public void completeWith(byte[] data) {
      InputTensor input = request.inputs().getFirst();
      handler
          .place(request.outputs().getFirst(), input.type(), input.shape(), data.length)
          .copyFrom(MemorySegment.ofArray(data));
      handler.completed(TIMINGS);
    }

    void place(String output) {
      InputTensor input =
          request.inputs().stream()
              .filter(candidate -> output.equals("y_" + candidate.name()))
              .findFirst()
              .orElseThrow();
      MemorySegment target =
          handler.place(output, input.type(), input.shape(), input.data().byteSize());
      target.copyFrom(input.data());
    }

    public void fail() {
      place(request.outputs().getFirst());
      handler.failed(new StatusException(Status.INSUFFICIENT_MEMORY, "needs 9MiB, has 8MiB"));
    }

    void finishWithoutSomeOutput() {
      handler.completed(TIMINGS);
    }

    public boolean isCancelled() {
      return cancelled;
    }

    @Override
    public void cancel() {
      cancelled = true;
      if (endsWithdrawn && pending.remove(this)) {
        handler.failed(new StatusException(Status.CANCELLED, "it was withdrawn"));
      }
    }
  }
}
