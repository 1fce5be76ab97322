package io.pipelane.lanes.process;

import java.util.concurrent.CompletableFuture;

/** What the supervisor of workers is told, by those who see or want something. */
sealed interface WorkerCommand {
  /** A worker has said that it is ready. */
  record Ready(WorkerMember member, String runtimeVersion) implements WorkerCommand {}

  /** A worker's process was killed and does not end. */
  record Stuck(WorkerProcess worker) implements WorkerCommand {}

  /** A worker's process has ended. */
  record Gone(WorkerProcess worker) implements WorkerCommand {}

  /** A worker is to be left to what it has been used for. */
  record Switch(WorkerProcess worker) implements WorkerCommand {}

  /** A worker is to be replaced. */
  record Recycle(int id, CompletableFuture<Void> done) implements WorkerCommand {}

  /** The device does no more for this process, nor for one that it starts. */
  record Lost(String reason) implements WorkerCommand {}

  /** All workers are to end. */
  record Close() implements WorkerCommand {}
}
