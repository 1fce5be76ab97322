package io.pipelane.server.warmup;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.lanes.execution.InputTensor;
import io.pipelane.lanes.execution.WorkerLostException;
import io.pipelane.lanes.execution.WorkerStuckException;
import io.pipelane.modelstore.repository.ModelOptions.Priority;
import io.pipelane.modelstore.repository.WarmUp;
import io.pipelane.runtime.Shape;
import io.pipelane.runtime.TensorSpec;
import io.pipelane.runtime.TensorType;
import io.pipelane.server.catalog.ServedModel;
import io.pipelane.switcher.InferenceRequest;
import io.pipelane.switcher.InferenceService;
import io.pipelane.switcher.InferenceService.Ticket;
import io.pipelane.switcher.InferenceTimings;
import io.pipelane.switcher.ResultHandler;
import io.pipelane.switcher.SequenceStep;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/**
 * Runs of the requests that owners have declared, one after another, on a version that nobody else
 * asks yet. They reach the devices beneath all that counts requests. Blocks; safe for any thread.
 */
public final class WarmUpRuns {
  /** What all requests of a version may take together, waiting included. */
  public static final Duration LONGEST = Duration.ofMinutes(2);

  private static final Duration ASK_AGAIN = Duration.ofMillis(10);

  private final InferenceService devices;
  private final Duration longest;

  /**
   * Nothing runs yet.
   *
   * @param longest what all requests of a version may take together
   */
  public WarmUpRuns(InferenceService devices, Duration longest) {
    this.devices = devices;
    this.longest = longest;
  }

  /**
   * Runs what a version's options declare; it is registered with the devices.
   *
   * @throws StatusException naming the first request that fails, and why; or that they take too
   *     long
   */
  public void run(ServedModel model) {
    long end = System.nanoTime() + longest.toNanos();
    for (WarmUp request : model.options().warmUps()) {
      try {
        run(model, request, end);
      } catch (StatusException e) {
        throw e.saying(
            "%s: its warm-up request \"%s\" failed: %s"
                .formatted(model.version(), request.name(), e.getMessage()));
      }
    }
  }

  private void run(ServedModel model, WarmUp request, long end) {
    try (Arena arena = Arena.ofShared()) {
      List<InputTensor> inputs = new WarmUpData(model, arena).of(request);
      for (int i = 0; i < request.count(); i++) {
        run(model, inputs, end);
      }
    }
  }

  private void run(ServedModel model, List<InputTensor> inputs, long end) {
    InferenceRequest request =
        new InferenceRequest(
            model.version(),
            inputs,
            model.outputs().stream().map(TensorSpec::name).toList(),
            OptionalLong.empty(),
            Priority.ONLINE,
            model.keepsState()
                ? Optional.of(new SequenceStep("warm-up", true, true))
                : Optional.empty());
    while (!isAnswered(request, end)) {
      LockSupport.parkNanos(ASK_AGAIN.toNanos());
    }
  }

  /** Asks once; false where others are in the way, and it may be asked again. */
  private boolean isAnswered(InferenceRequest request, long end) {
    try (Arena answers = Arena.ofShared()) {
      Waiting waiting = new Waiting(answers);
      waiting.await(devices.submit(request, waiting), end, longest);
      return true;
    } catch (StatusException e) {
      boolean hasTime = System.nanoTime() - end < 0 && !Thread.currentThread().isInterrupted();
      if (!hasTime || !mayPass(e)) {
        throw e;
      }
      return false;
    }
  }

  /** Others have filled the queue or the memory; a worker that was lost has been tried again. */
  private static boolean mayPass(StatusException failure) {
    return failure.status() == Status.UNAVAILABLE && !isLossBehind(failure);
  }

  private static boolean isLossBehind(@Nullable Throwable error) {
    return error != null
        && (error instanceof WorkerLostException
            || error instanceof WorkerStuckException
            || isLossBehind(error.getCause()));
  }

  /** A handler that takes answers which nobody reads. */
  private record Waiting(Arena arena, CompletableFuture<@Nullable StatusException> ended)
      implements ResultHandler {
    Waiting(Arena arena) {
      this(arena, new CompletableFuture<>());
    }

    /** Waits until the request has ended, which is withdrawn when its time is over. */
    void await(Ticket ticket, long end, Duration longest) {
      @Nullable StatusException failure;
      try {
        failure = ended.get(Math.max(0, end - System.nanoTime()), TimeUnit.NANOSECONDS);
      } catch (TimeoutException e) {
        ticket.cancel();
        @Nullable StatusException _ = ended.join(); // Its memory is in use until then.
        throw new StatusException(
            Status.INVALID_ARGUMENT,
            "a version's warm-up requests may take %d s in all".formatted(longest.toSeconds()));
      } catch (InterruptedException e) {
        ticket.cancel();
        @Nullable StatusException _ = ended.join();
        Thread.currentThread().interrupt();
        throw new StatusException(Status.CANCELLED, "it was interrupted", e);
      } catch (ExecutionException e) {
        throw new IllegalStateException(e);
      }
      if (failure != null) {
        throw failure;
      }
    }

    @Override
    public MemorySegment place(String name, TensorType type, Shape shape, long byteSize) {
      return arena.allocate(byteSize, Long.BYTES);
    }

    @Override
    public void completed(InferenceTimings timings) {
      ended.complete(null);
    }

    @Override
    public void failed(StatusException error) {
      ended.complete(error);
    }
  }
}
