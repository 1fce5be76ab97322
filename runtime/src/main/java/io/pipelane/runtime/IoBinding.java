package io.pipelane.runtime;

import static java.lang.foreign.ValueLayout.JAVA_LONG;

import io.pipelane.config.StatusException;
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
  private final OrtSession session;
  private final long binding;
  private final long runOptions;
  private volatile boolean isEnded;
  private final Arena arena = Arena.ofShared();
  private final Map<String, Long> names = new HashMap<>();
  private final Map<String, Stretch> stretches = new HashMap<>();
  private final Map<String, Stretch> outputStretches = new HashMap<>();

  /**
   * ONNX Runtime says in words alone what is wrong: that the shape is not the one computed (in the
   * words of 1.28, and of others), or that it contradicts what the model declares, which nobody
   * would mind without bound memory.
   */
  private static final List<String> OTHER_SHAPE =
      List.of(
          "but the computed output shape for this run is",
          "OrtValue shape verification failed",
          "Got invalid dimensions for output: ",
          "Invalid rank for output: ");

  /** Memory that is bound as an input or an output. */
  private record Stretch(long address, long byteSize, TensorType type, Shape shape) {}

  IoBinding(OrtEnvironment environment, OrtSession session) {
    this.environment = environment;
    this.api = environment.api();
    this.session = session;
    this.binding = api.get(OrtApi.CREATE_IO_BINDING, session.address());
    try {
      this.runOptions = api.create(OrtApi.CREATE_RUN_OPTIONS);
    } catch (RuntimeException e) {
      api.invoke(OrtApi.RELEASE_IO_BINDING, binding);
      throw e;
    }
  }

  /**
   * Binds an input, in place of what was bound to the name; the tensor may be closed after. Where
   * the tensor lies elsewhere than the session wants it, its bytes are copied here and now: inputs
   * that the session reads on the host are bound as {@link OrtTensor#onHost} for that reason.
   */
  public void input(String name, OrtTensor tensor) {
    stretches.remove(name);
    bind(name, tensor);
  }

  /**
   * Binds memory that ONNX Runtime is to read in place; at once where the same is bound already, as
   * it mostly is: runs of the same shapes find the same addresses in their lane.
   *
   * @param address of {@code byteSize} bytes of device memory, there until the run has ended
   * @return whether the same was bound already
   */
  public boolean input(String name, long address, long byteSize, TensorType type, Shape shape) {
    Stretch stretch = new Stretch(address, byteSize, type, shape);
    if (stretch.equals(stretches.get(name))) {
      return true;
    }
    stretches.remove(name);
    try (OrtTensor tensor = OrtTensor.over(environment, address, byteSize, type, shape)) {
      bind(name, tensor);
    }
    stretches.put(name, stretch);
    return false;
  }

  private void bind(String name, OrtTensor tensor) {
    api.call(OrtApi.BIND_INPUT, binding, name(name), tensor.address());
  }

  /**
   * Wants an output, in memory that the run allocates: the device's, or ordinary memory where the
   * session computes it on the host. Must be called before every run.
   */
  public void output(String name) {
    outputStretches.remove(name);
    long memory =
        session.hostOutputs().contains(name)
            ? environment.hostMemoryInfo()
            : environment.memoryInfo();
    api.call(OrtApi.BIND_OUTPUT_TO_DEVICE, binding, name(name), memory);
  }

  /**
   * Wants an output written to memory, for as long as nothing else is wanted of it; at once where
   * the same is bound already. A run in which the output has another shape {@linkplain
   * #isOfAnotherShape fails} before it writes to it.
   *
   * @param address of {@code byteSize} bytes of device memory, there until the run has ended
   */
  public void output(String name, long address, long byteSize, TensorType type, Shape shape) {
    Stretch stretch = new Stretch(address, byteSize, type, shape);
    if (stretch.equals(outputStretches.get(name))) {
      return;
    }
    outputStretches.remove(name);
    try (OrtTensor tensor = OrtTensor.over(environment, address, byteSize, type, shape)) {
      api.call(OrtApi.BIND_OUTPUT, binding, name(name), tensor.address());
    }
    outputStretches.put(name, stretch);
  }

  /**
   * Whether a run has failed as an output has another shape than the memory that is bound to it, or
   * than the model declares.
   */
  public static boolean isOfAnotherShape(StatusException failure) {
    String message = failure.getMessage();
    return message != null && OTHER_SHAPE.stream().anyMatch(message::contains);
  }

  /**
   * Runs the session on the calling thread, and returns when its outputs are there.
   *
   * @param listener told at every gate
   * @throws StatusException when the run fails
   */
  public void run(GateListener listener) {
    run(listener, runOptions);
  }

  /**
   * The same, but work for a device is only enqueued on the session's stream: for a stream that is
   * being captured. What the run needs on the host until its work is done, ONNX Runtime keeps until
   * the next {@link #run}.
   */
  public void enqueue(GateListener listener) {
    run(listener, session.enqueueOptions());
  }

  private void run(GateListener listener, long runOptions) {
    GateOperator.listening(
        listener, () -> api.call(OrtApi.RUN_WITH_BINDING, session.address(), runOptions, binding));
  }

  /**
   * Has the {@link #run} that is under way fail before its next node, one within a loop too; it
   * runs nothing more. For any thread, before {@link #close}.
   */
  public void end() {
    isEnded = true;
    api.call(OrtApi.RUN_OPTIONS_SET_TERMINATE, runOptions);
  }

  /** Whether {@link #end} has been called. */
  public boolean isEnded() {
    return isEnded;
  }

  /** What the last run returned, in the order in which outputs were first wanted; close each. */
  public List<OrtTensor> outputs() {
    MemorySegment results = api.results();
    long out = results.address();
    api.call(OrtApi.GET_BOUND_OUTPUT_VALUES, binding, environment.defaultAllocator(), out, out + 8);
    long array = results.getAtIndex(JAVA_LONG, 0);
    int size = (int) results.getAtIndex(JAVA_LONG, 1);
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

  /**
   * Wants no output any more, and lets go of those of the last run, so that their memory is free
   * once they are closed.
   */
  public void clearOutputs() {
    outputStretches.clear();
    api.invoke(OrtApi.CLEAR_BOUND_OUTPUTS, binding);
  }

  @Override
  public void close() {
    api.invoke(OrtApi.RELEASE_IO_BINDING, binding);
    api.invoke(OrtApi.RELEASE_RUN_OPTIONS, runOptions);
    arena.close();
  }

  private long name(String name) {
    return names.computeIfAbsent(name, text -> arena.allocateFrom(text).address());
  }
}
