package io.pipelane.lanes.execution;

import io.pipelane.runtime.Shape;
import io.pipelane.runtime.TensorType;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.List;

/** One FP32 input {@code x} and one FP32 output {@code y}. */
public class FloatInvocation implements Invocation {
  private final InputTensor input;
  private final MemorySegment places;
  private MemorySegment output = MemorySegment.NULL;

  public FloatInvocation(float[] x, Shape shape) {
    this(x, shape, MemorySegment.NULL);
  }

  /**
   * A run.
   *
   * @param places where the output goes if it fits
   */
  public FloatInvocation(float[] x, Shape shape, MemorySegment places) {
    this.places = places;
    MemorySegment data = Arena.ofAuto().allocateFrom(ValueLayout.JAVA_FLOAT, x);
    input = new InputTensor("x", TensorType.FP32, shape, data);
  }

  @Override
  public List<InputTensor> inputs() {
    return List.of(input);
  }

  @Override
  public List<String> outputs() {
    return List.of("y");
  }

  @Override
  public MemorySegment place(String name, TensorType type, Shape shape, long byteSize) {
    output =
        byteSize <= places.byteSize()
            ? places.asSlice(0, byteSize)
            : Arena.ofAuto().allocate(byteSize, 64);
    return output;
  }

  @Override
  public void placed() {
    // The run's end is awaited.
  }

  public float[] output() {
    return output.toArray(ValueLayout.JAVA_FLOAT);
  }
}
