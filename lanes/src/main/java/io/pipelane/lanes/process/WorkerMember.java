package io.pipelane.lanes.process;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.lanes.cpu.ProcessPriority;
import java.lang.System.Logger.Level;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/** A worker among the others. Written by the supervisor's thread, read by any. */
final class WorkerMember {
  private static final System.Logger LOG = System.getLogger(WorkerMember.class.getName());

  final WorkerProcess worker;
  private volatile WorkerState state = WorkerState.STARTING;
  private volatile @Nullable CompletableFuture<Void> recycling;
  private long recyclingSinceNanos;

  WorkerMember(WorkerProcess worker) {
    this.worker = worker;
  }

  WorkerState state() {
    return state;
  }

  boolean is(WorkerState candidate) {
    return state == candidate;
  }

  /** Whether it is neither on its way out nor to be replaced. */
  boolean stays() {
    return state != WorkerState.RETIRING && recycling == null;
  }

  /** Whether it has a post and stays. */
  boolean isSettled() {
    return stays() && state.isPost();
  }

  boolean isToBeReplaced() {
    return recycling != null;
  }

  void become(WorkerState next) {
    state = next;
  }

  /** Has less of the processor for good: what runs offline work runs nothing else any more. */
  void yields(ProcessPriority priority) {
    if (!priority.giveTo(worker.pid())) {
      LOG.log(
          Level.WARNING,
          "the system does not make worker {0}, which runs offline work, less urgent"
              + " (sharing.offline-nice, sharing.offline-processors)",
          worker.id());
    }
  }

  /** Has it replaced; {@code done} is told when it is gone, as is who wanted that before. */
  void replace(CompletableFuture<Void> done, long nowNanos) {
    CompletableFuture<Void> begun = recycling;
    if (begun != null) {
      CompletableFuture<Void> _ =
          begun.whenComplete(
              (_, failure) -> {
                boolean _ =
                    failure == null ? done.complete(null) : done.completeExceptionally(failure);
              });
    } else if (stays()) {
      recyclingSinceNanos = nowNanos;
      recycling = done;
    } else {
      boolean _ = done.completeExceptionally(noSuchWorker(worker.id()));
    }
  }

  /** How long it has been to be replaced; it is. */
  long recyclingNanos(long nowNanos) {
    return nowNanos - recyclingSinceNanos;
  }

  /** It stays, as nobody takes its place; who wanted it replaced is told why. */
  void stayAfterAll(StatusException reason) {
    CompletableFuture<Void> done = recycling;
    recycling = null;
    if (done != null) {
      boolean _ = done.completeExceptionally(reason);
    }
  }

  /** Tells who wanted it replaced. */
  void gone() {
    CompletableFuture<Void> done = recycling;
    if (done != null) {
      boolean _ = done.complete(null);
    }
  }

  /** Tells who wanted it replaced that it cannot be ended. */
  void stuck() {
    CompletableFuture<Void> done = recycling;
    if (done != null) {
      boolean _ =
          done.completeExceptionally(new StatusException(Status.UNAVAILABLE, worker.description()));
    }
  }

  static StatusException noSuchWorker(int id) {
    return new StatusException(
        Status.NOT_FOUND, "there is no worker " + id + " to recycle; GET /v2/workers lists them");
  }

  WorkersOverview.Entry overview() {
    return new WorkersOverview.Entry(
        worker.id(),
        worker.pid(),
        state,
        worker.builds().count(),
        worker.builds().models(),
        worker.builds().warmedUp(),
        ProcessMemory.privateBytes(worker.pid()),
        "",
        worker.builds().constantBytes(),
        0);
  }
}
