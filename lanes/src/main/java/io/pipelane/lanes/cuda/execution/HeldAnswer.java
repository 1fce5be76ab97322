package io.pipelane.lanes.cuda.execution;

import io.pipelane.lanes.execution.InputTensor;
import io.pipelane.lanes.execution.Invocation;
import io.pipelane.runtime.Shape;
import io.pipelane.runtime.TensorType;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** A run of our own whose outputs are kept to be compared. */
final class HeldAnswer implements Invocation {
  /** One output. */
  record Output(TensorType type, Shape shape, MemorySegment data) {}

  private final List<InputTensor> inputs;
  private final List<String> names;
  private final Arena arena;
  private final Map<String, Output> outputs = new LinkedHashMap<>();

  /**
   * An answer yet to come.
   *
   * @param arena whose end is that of the outputs
   */
  HeldAnswer(List<InputTensor> inputs, List<String> names, Arena arena) {
    this.inputs = inputs;
    this.names = names;
    this.arena = arena;
  }

  @Override
  public List<InputTensor> inputs() {
    return inputs;
  }

  @Override
  public List<String> outputs() {
    return names;
  }

  @Override
  public MemorySegment place(String name, TensorType type, Shape shape, long byteSize) {
    MemorySegment data = arena.allocate(byteSize, 64);
    outputs.put(name, new Output(type, shape, data));
    return data;
  }

  @Override
  public void placed() {
    // Nobody waits for it.
  }

  /** The outputs that have been placed. */
  Map<String, Output> answer() {
    return outputs;
  }
}
