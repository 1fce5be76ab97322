package io.pipelane.lanes.execution;

import io.pipelane.modelstore.repository.ModelOptions.Priority;
import io.pipelane.runtime.Shape;
import io.pipelane.runtime.TensorType;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.Optional;

/** The inputs of one run and the place for its outputs. */
public interface Invocation {
  List<InputTensor> inputs();

  /** Names of the outputs wanted. */
  List<String> outputs();

  /**
   * Whose run it is, where nothing of it may be left in a process that runs others'; empty where
   * all may share one.
   */
  default String owner() {
    return "";
  }

  /** The class of work that it is, of which each may have a process of its own. */
  default Priority priority() {
    return Priority.ONLINE;
  }

  /**
   * For how long it is worth waiting for a process to run in, if there is none now, in nanoseconds;
   * nobody waits for the answer any more afterwards.
   */
  default long patienceNanos() {
    return Long.MAX_VALUE;
  }

  /**
   * Whether a session that captures may make a capture of it: what is captured is compared with the
   * run's own answer, which says nothing where weights are not the model's.
   */
  default boolean mayBeCaptured() {
    return true;
  }

  /**
   * The number of the state that the outputs become, where the run writes that on the device: last,
   * behind them.
   */
  default Optional<StateNumber> stateNumber() {
    return Optional.empty();
  }

  /**
   * Where to write an output: exactly {@code byteSize} bytes, strings as 32-bit little-endian
   * length and bytes each; perhaps in the device's {@link io.pipelane.lanes.DeviceStates}. The run
   * may still fail.
   */
  MemorySegment place(String name, TensorType type, Shape shape, long byteSize);

  /**
   * The same for an output that can be written to memory of the host alone, as it comes from
   * another process.
   */
  default MemorySegment placeOnHost(String name, TensorType type, Shape shape, long byteSize) {
    return place(name, type, shape, byteSize);
  }

  /** The same for one that is cut on the host from what the run has made, which is larger. */
  default MemorySegment placeOfCut(String name, TensorType type, Shape shape, long byteSize) {
    return placeOnHost(name, type, shape, byteSize);
  }

  /**
   * Offers an output where the run has left it, in host memory and not of strings; it stays there
   * until the lane is used again.
   *
   * @return true when it need not be copied to a {@link #place}
   */
  default boolean takes(String name, TensorType type, Shape shape, MemorySegment data) {
    return false;
  }

  /**
   * All outputs are written, and the run will not fail: what the session still does, on its own
   * behalf, keeps nobody waiting. The inputs may be gone afterwards. Called at most once, by a
   * session that has such work; otherwise the end of the run means the same.
   */
  void placed();
}
