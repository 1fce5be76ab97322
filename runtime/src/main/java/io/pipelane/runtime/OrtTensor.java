package io.pipelane.runtime;

import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;

/**
 * A tensor as ONNX Runtime knows it: memory of ours that it reads in place, or memory of its own.
 *
 * <p>Not safe for several threads.
 */
public final class OrtTensor implements AutoCloseable {
  private final OrtEnvironment environment;
  private final long value;

  private OrtTensor(OrtEnvironment environment, long value) {
    this.environment = environment;
    this.value = value;
  }

  /** Takes over a value that a C function returned. */
  static OrtTensor owning(OrtEnvironment environment, long value) {
    return new OrtTensor(environment, value);
  }

  /**
   * A tensor over existing memory, which must outlive it.
   *
   * @param address of {@code byteSize} bytes of device memory
   */
  public static OrtTensor over(
      OrtEnvironment environment, long address, long byteSize, TensorType type, Shape shape) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment dimensions = arena.allocate(JAVA_LONG, Math.max(1, shape.rank()));
      for (int d = 0; d < shape.rank(); d++) {
        dimensions.setAtIndex(JAVA_LONG, d, shape.dimension(d));
      }
      MemorySegment out = arena.allocate(JAVA_LONG);
      environment
          .api()
          .call(
              OrtApi.CREATE_TENSOR_WITH_DATA_AS_VALUE,
              environment.memoryInfo(),
              address,
              byteSize,
              dimensions.address(),
              shape.rank(),
              type.onnx(),
              out.address());
      return new OrtTensor(environment, out.get(JAVA_LONG, 0));
    }
  }

  public TensorType type() {
    return TensorType.ofOnnx((int) withInfo(OrtApi.GET_TENSOR_ELEMENT_TYPE));
  }

  public Shape shape() {
    OrtApi api = environment.api();
    long info = api.get(OrtApi.GET_TENSOR_TYPE_AND_SHAPE, value);
    try (Arena arena = Arena.ofConfined()) {
      long rank = api.get(OrtApi.GET_DIMENSIONS_COUNT, info);
      MemorySegment dimensions = arena.allocate(JAVA_LONG, Math.max(1, rank));
      api.call(OrtApi.GET_DIMENSIONS, info, dimensions.address(), rank);
      return Shape.of(dimensions.asSlice(0, 8 * rank).toArray(JAVA_LONG));
    } finally {
      api.invoke(OrtApi.RELEASE_TENSOR_TYPE_AND_SHAPE_INFO, info);
    }
  }

  /** The elements of a tensor that is not of strings, valid until the tensor is closed. */
  public MemorySegment data() {
    OrtApi api = environment.api();
    long bytes = api.get(OrtApi.GET_TENSOR_SIZE_IN_BYTES, value);
    long address = api.get(OrtApi.GET_TENSOR_MUTABLE_DATA, value);
    return MemorySegment.ofAddress(address).reinterpret(bytes);
  }

  long address() {
    return value;
  }

  OrtEnvironment environment() {
    return environment;
  }

  @Override
  public void close() {
    environment.api().invoke(OrtApi.RELEASE_VALUE, value);
  }

  private long withInfo(int getter) {
    OrtApi api = environment.api();
    long info = api.get(OrtApi.GET_TENSOR_TYPE_AND_SHAPE, value);
    try {
      return api.get(getter, info);
    } finally {
      api.invoke(OrtApi.RELEASE_TENSOR_TYPE_AND_SHAPE_INFO, info);
    }
  }
}
