package io.pipelane.loadgen.drive;

/** The network side of a run: its clock, its thread and its connections. */
public interface Transport extends Timeline, Connection.Factory, AutoCloseable {
  /** Runs a task on the run's thread, soon; from any thread. */
  void execute(Runnable task);

  /** Closes all connections and ends the thread; returns when both are done. */
  @Override
  void close();
}
