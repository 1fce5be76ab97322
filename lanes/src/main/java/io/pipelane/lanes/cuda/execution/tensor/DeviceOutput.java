package io.pipelane.lanes.cuda.execution.tensor;

import io.pipelane.runtime.OrtTensor;
import io.pipelane.runtime.Shape;
import io.pipelane.runtime.TensorType;
import java.lang.foreign.MemorySegment;

/** An output in device memory. */
public record DeviceOutput(String name, TensorType type, Shape shape, long address, long byteSize) {
  public static DeviceOutput of(String name, OrtTensor tensor) {
    MemorySegment data = tensor.data();
    return new DeviceOutput(name, tensor.type(), tensor.shape(), data.address(), data.byteSize());
  }
}
