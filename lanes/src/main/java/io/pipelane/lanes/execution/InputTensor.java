package io.pipelane.lanes.execution;

import io.pipelane.runtime.Shape;
import io.pipelane.runtime.TensorType;
import java.lang.foreign.MemorySegment;

/**
 * One input of a request.
 *
 * @param shape concrete
 * @param data row-major little-endian elements, exactly {@code shape.elements() * byteWidth} bytes,
 *     of any alignment; BYTES elements each as 32-bit little-endian length and bytes. Native memory
 *     that stays valid until the request has ended.
 * @param onDevice whether the data are addresses of the device that runs it, of its {@link
 *     io.pipelane.lanes.DeviceStates}, which only runs may touch
 */
public record InputTensor(
    String name, TensorType type, Shape shape, MemorySegment data, boolean onDevice) {
  /** An input in host memory. */
  public InputTensor(String name, TensorType type, Shape shape, MemorySegment data) {
    this(name, type, shape, data, false);
  }
}
