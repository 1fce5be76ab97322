package io.pipelane.lanes.process;

import java.util.concurrent.CompletableFuture;

/** A message to the supervisor of workers, by those who see or want something. */
sealed interface WorkerCommand {
  /** The report that a worker is ready, by its own word. */
  record Ready(WorkerMember member, String runtimeVersion) implements WorkerCommand {}

  /** The report that a worker's process was killed and does not end. */
  record Stuck(WorkerProcess worker) implements WorkerCommand {}

  /** The report that a worker's process has ended. */
  record Gone(WorkerProcess worker) implements WorkerCommand {}

  /** The order to leave a worker to what it has been used for. */
  record Switch(WorkerProcess worker) implements WorkerCommand {}

  /** The order to replace a worker. */
  record Recycle(int id, CompletableFuture<Void> done) implements WorkerCommand {}

  /** The report that the device does no more for this process, nor for one that it starts. */
  record Lost(String reason) implements WorkerCommand {}

  /** The order that all workers are to end. */
  record Close() implements WorkerCommand {}
}
