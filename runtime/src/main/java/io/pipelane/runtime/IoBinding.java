package io.pipelane.runtime;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Inputs and outputs of a session, bound by name, and the way to run it. Belongs to one thread at a
 * time, a platform thread.
 */
public final class IoBinding implements AutoCloseable {
  private final OrtEnvironment environment;
  private final OrtApi api;
  private final long session;
  private final long runOptions;
  private final long binding;
  private final Arena arena = Arena.ofShared();
  private final Map<String, Long> names = new HashMap<>();

  IoBinding(OrtEnvironment environment, long session, long runOptions) {
    this.environment = environment;
    this.api = environment.api();
    this.session = session;
    this.runOptions = runOptions;
    this.binding = api.get(OrtApi.CREATE_IO_BINDING, session);
  }

  /** Binds an input, in place of what was bound to the name; the tensor may be closed after. */
  public void input(String name, OrtTensor tensor) {
    api.call(OrtApi.BIND_INPUT, binding, name(name), tensor.address());
  }

  /** Wants an output, in memory that the run allocates; must be called before every run. */
  public void output(String name) {
    api.call(OrtApi.BIND_OUTPUT_TO_DEVICE, binding, name(name), environment.memoryInfo());
  }

  /**
   * Runs the session on the calling thread.
   *
   * @param listener told at every gate
   * @throws io.pipelane.config.StatusException when the run fails
   */
  public void run(GateListener listener) {
    GateOperator.listening(
        listener, () -> api.call(OrtApi.RUN_WITH_BINDING, session, runOptions, binding));
  }

  /** What the last run returned, in the order in which outputs were first wanted; close each. */
  public List<OrtTensor> outputs() {
    try (Arena scratch = Arena.ofConfined()) {
      MemorySegment values = scratch.allocate(ADDRESS);
      MemorySegment count = scratch.allocate(JAVA_LONG);
      api.call(
          OrtApi.GET_BOUND_OUTPUT_VALUES,
          binding,
          environment.defaultAllocator(),
          values.address(),
          count.address());
      long array = values.get(JAVA_LONG, 0);
      int size = (int) count.get(JAVA_LONG, 0);
      MemorySegment addresses = MemorySegment.ofAddress(array).reinterpret(8L * size);
      List<OrtTensor> result = new ArrayList<>(size);
      for (int i = 0; i < size; i++) {
        result.add(OrtTensor.owning(environment, addresses.getAtIndex(JAVA_LONG, i)));
      }
      if (array != 0) {
        api.call(OrtApi.ALLOCATOR_FREE, environment.defaultAllocator(), array);
      }
      return result;
    }
  }

  /** Lets go of the outputs of the last run, so that their memory is free once they are closed. */
  public void clearOutputs() {
    api.invoke(OrtApi.CLEAR_BOUND_OUTPUTS, binding);
  }

  @Override
  public void close() {
    api.invoke(OrtApi.RELEASE_IO_BINDING, binding);
    arena.close();
  }

  private long name(String name) {
    return names.computeIfAbsent(name, text -> arena.allocateFrom(text).address());
  }
}
