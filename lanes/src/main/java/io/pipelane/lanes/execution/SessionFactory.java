package io.pipelane.lanes.execution;

import io.pipelane.lanes.EphemeralRegion;
import io.pipelane.modelstore.ImportedModel;
import io.pipelane.modelstore.repository.ModelOptions.Priority;
import org.jspecify.annotations.Nullable;

/** A factory of the sessions that models run in on one device. Safe for any platform thread. */
public interface SessionFactory extends AutoCloseable {
  /** Sessions that may be built at a time before anybody needs them; one that is needed fits in. */
  int MOST_BUILT_AHEAD = 4;

  /**
   * Whether a session belongs to the lane it was built for, because it launches on its stream and
   * knows its addresses; otherwise any lane may run it, several at once.
   */
  boolean boundToLane();

  /** Whether a run computes on the thread that asks for it, and waits for nobody else. */
  default boolean computesOnCaller() {
    return false;
  }

  /**
   * Builds a session whose weights arrive segment by segment; its range need not be mapped. Models
   * of one structure may share it, if their weights take turns at the address.
   *
   * @param address where the weights lie
   * @param lane the memory of the lane that it belongs to; null where sessions are bound to none
   * @param constants charged with what stays in the session
   * @throws OutOfDeviceMemoryException when that does not fit
   * @throws WorkerLostException when the process that builds it is lost
   * @throws io.pipelane.config.StatusException when ONNX Runtime refuses the model
   */
  ModelSession gated(
      ImportedModel model, long address, @Nullable EphemeralRegion lane, MemoryTarget constants);

  /**
   * The same, built where work of a class runs first of all.
   *
   * @param priority of what needs it now; anything may be run in it
   */
  default ModelSession gated(
      ImportedModel model,
      long address,
      @Nullable EphemeralRegion lane,
      MemoryTarget constants,
      Priority priority) {
    return gated(model, address, lane, constants);
  }

  /** Whether offline work runs in a process of its own: no online run is lost with that. */
  default boolean runsOfflineApart() {
    return false;
  }

  /**
   * Device memory that is taken at present beside weights, allocations and lanes: that of
   * libraries, for the most part, whether it belongs to a session or to all of them.
   */
  default long frameworkBytes() {
    return 0;
  }

  /** How many processes build each session, and hold it. */
  default int processes() {
    return 1;
  }

  /** Whether the device does no more for this process; only a new one helps. */
  default boolean isLost() {
    return false;
  }

  /**
   * Ends what may be broken, and begins anew with what stands by, where there is anything: runs
   * under way end with {@link WorkerLostException} there.
   *
   * @param reason for people
   * @return whether there was anything to end
   */
  default boolean reset(String reason) {
    return false;
  }

  /** Whose runs a model's are, see {@link Invocation#owner}. */
  default String owner(ImportedModel model) {
    return "";
  }

  /**
   * Notes that a model is gone that sessions were run for, and the host memory that it read in
   * place; sessions are closed by themselves.
   */
  default void forget(ImportedModel model) {}

  /**
   * Has other processes let go of device memory that has been given back and that they keep, for
   * want of anything to do; blocks a platform thread for a moment.
   */
  default void tidy() {}

  /** ONNX Runtime's version. */
  String runtimeVersion();

  /** Ends the runtime; its sessions are closed. */
  @Override
  void close();
}
