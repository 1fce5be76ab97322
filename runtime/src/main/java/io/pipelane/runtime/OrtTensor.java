package io.pipelane.runtime;

import static java.lang.foreign.ValueLayout.JAVA_INT;
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
    if (shape.rank() < OrtApi.RESULTS) {
      return over(environment, address, byteSize, type, shape, environment.api().results());
    }
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment scratch = arena.allocate(JAVA_LONG, 1 + shape.rank());
      return over(environment, address, byteSize, type, shape, scratch);
    }
  }

  /** The same with room for the result and, behind it, the dimensions. */
  private static OrtTensor over(
      OrtEnvironment environment,
      long address,
      long byteSize,
      TensorType type,
      Shape shape,
      MemorySegment scratch) {
    for (int d = 0; d < shape.rank(); d++) {
      scratch.setAtIndex(JAVA_LONG, 1 + d, shape.dimension(d));
    }
    long out = scratch.address();
    environment
        .api()
        .call(
            OrtApi.CREATE_TENSOR_WITH_DATA_AS_VALUE,
            environment.memoryInfo(),
            address,
            byteSize,
            out + JAVA_LONG.byteSize(),
            shape.rank(),
            type.onnx(),
            out);
    return new OrtTensor(environment, scratch.get(JAVA_LONG, 0));
  }

  /**
   * A tensor in ordinary memory of ONNX Runtime's own, with a copy of the elements.
   *
   * @param data of any alignment, not of strings
   */
  public static OrtTensor onHost(
      OrtEnvironment environment, MemorySegment data, TensorType type, Shape shape) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment dimensions = arena.allocate(JAVA_LONG, Math.max(1, shape.rank()));
      MemorySegment.copy(shape.toArray(), 0, dimensions, JAVA_LONG, 0, shape.rank());
      MemorySegment out = arena.allocate(JAVA_LONG);
      environment
          .api()
          .call(
              OrtApi.CREATE_TENSOR_AS_VALUE,
              environment.defaultAllocator(),
              dimensions.address(),
              shape.rank(),
              type.onnx(),
              out.address());
      OrtTensor tensor = new OrtTensor(environment, out.get(JAVA_LONG, 0));
      tensor.data().copyFrom(data);
      return tensor;
    }
  }

  /** The type and shape of a tensor: all of it but its elements. */
  public record Form(TensorType type, Shape shape) {}

  public TensorType type() {
    return form().type();
  }

  public Shape shape() {
    return form().shape();
  }

  /** Both, by one call: the element type, a pointer to the dimensions, and their number. */
  public Form form() {
    OrtApi api = environment.api();
    MemorySegment results = api.results();
    long out = results.address();
    api.call(
        OrtApi.GET_TENSOR_ELEMENT_TYPE_AND_SHAPE_DATA_REFERENCE, value, out, out + 8, out + 16);
    TensorType type = TensorType.ofOnnx(results.get(JAVA_INT, 0));
    long dimensions = results.getAtIndex(JAVA_LONG, 1);
    long rank = results.getAtIndex(JAVA_LONG, 2);
    MemorySegment read = MemorySegment.ofAddress(dimensions).reinterpret(8 * rank);
    long[] shape = new long[(int) rank];
    for (int d = 0; d < shape.length; d++) {
      shape[d] = read.getAtIndex(JAVA_LONG, d);
    }
    return new Form(type, Shape.of(shape));
  }

  /** Whether the elements lie in memory that the processor reads. */
  public boolean isOnHost() {
    OrtApi api = environment.api();
    return environment.isHostMemory(api.get(OrtApi.GET_TENSOR_MEMORY_INFO, value));
  }

  /**
   * The elements of a tensor that is not of strings, valid until the tensor is closed; only where
   * it {@link #isOnHost} may they be touched.
   */
  public MemorySegment data() {
    return data(environment.api().get(OrtApi.GET_TENSOR_SIZE_IN_BYTES, value));
  }

  /** The same of a tensor whose form is known. */
  public MemorySegment data(Form form) {
    return data(form.shape().elements() * form.type().byteWidth());
  }

  private MemorySegment data(long bytes) {
    long address = environment.api().get(OrtApi.GET_TENSOR_MUTABLE_DATA, value);
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
}
