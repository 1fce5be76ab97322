package io.pipelane.modelstore.importing;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_FLOAT;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.config.value.ByteSize;
import io.pipelane.runtime.MadeUpNumbers;
import io.pipelane.runtime.OrtEnvironment;
import io.pipelane.runtime.OrtTensor;
import io.pipelane.runtime.Shape;
import io.pipelane.runtime.TensorSpec;
import io.pipelane.runtime.TensorType;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;

/** Inputs of the right types and some shape: normal random numbers, integers of 0 and 1. */
final class MadeUpInputs {
  private static final long SEED = 20260101;
  private static final ByteSize LIMIT = ByteSize.ofMebibytes(64);

  private final OrtEnvironment environment;
  private final Arena arena;
  private long bytes;

  MadeUpInputs(OrtEnvironment environment, Arena arena) {
    this.environment = environment;
    this.arena = arena;
  }

  /**
   * Makes up inputs, the same ones for the same arguments.
   *
   * @param openDimension stands in for every open dimension
   * @throws StatusException when an input cannot be made up
   */
  Map<String, OrtTensor> of(List<TensorSpec> specs, long openDimension) {
    Random random = new Random(SEED);
    bytes = 0;
    Map<String, OrtTensor> inputs = new LinkedHashMap<>();
    for (TensorSpec spec : specs) {
      Shape shape = closed(spec.shape(), openDimension);
      MemorySegment data = allocate(spec, shape);
      MadeUpNumbers.fill(spec.type(), data, random);
      inputs.put(spec.name(), tensor(spec, shape, data));
    }
    return inputs;
  }

  /**
   * Makes up batches that begin with the same rows, the last of which is repeated as often as a
   * larger batch needs it.
   *
   * @param specs whose first dimension is open
   * @param rows that are made up
   * @param batch rows in all
   * @param openDimension stands in for every other open dimension
   * @throws StatusException when an input cannot be made up
   */
  Map<String, OrtTensor> rows(List<TensorSpec> specs, int rows, int batch, long openDimension) {
    Random random = new Random(SEED);
    bytes = 0;
    Map<String, OrtTensor> inputs = new LinkedHashMap<>();
    for (TensorSpec spec : specs) {
      long[] dimensions = closed(spec.shape(), openDimension).toArray();
      dimensions[0] = batch;
      Shape shape = Shape.of(dimensions);
      MemorySegment data = allocate(spec, shape);
      long rowBytes = data.byteSize() / batch;
      MemorySegment madeUp = data.asSlice(0, rows * rowBytes);
      fillRows(spec.type(), inputs.size(), madeUp, rows, random);
      for (int row = rows; row < batch; row++) {
        MemorySegment.copy(data, (rows - 1) * rowBytes, data, row * rowBytes, rowBytes);
      }
      inputs.put(spec.name(), tensor(spec, shape, data));
    }
    return inputs;
  }

  /**
   * Makes up a batch of rows, each larger than the one before where numbers have sizes: what is
   * computed over all of them changes each.
   *
   * @param specs whose first dimension is open
   * @param openDimension stands in for every other open dimension
   * @throws StatusException when an input cannot be made up
   */
  Map<String, OrtTensor> batch(List<TensorSpec> specs, int rows, long openDimension) {
    return slice(specs, rows, 0, rows, openDimension);
  }

  /** One row of such a batch, alone. */
  Map<String, OrtTensor> rowOf(List<TensorSpec> specs, int rows, int row, long openDimension) {
    return slice(specs, rows, row, 1, openDimension);
  }

  private Map<String, OrtTensor> slice(
      List<TensorSpec> specs, int rows, int first, int count, long openDimension) {
    Random random = new Random(SEED);
    bytes = 0;
    Map<String, OrtTensor> inputs = new LinkedHashMap<>();
    for (TensorSpec spec : specs) {
      long[] dimensions = closed(spec.shape(), openDimension).toArray();
      dimensions[0] = rows;
      MemorySegment data = allocate(spec, Shape.of(dimensions));
      fillRows(spec.type(), inputs.size(), data, rows, random);
      long rowBytes = data.byteSize() / rows;
      for (int row = 0; row < rows; row++) {
        enlarge(spec.type(), data.asSlice(row * rowBytes, rowBytes), row + 1);
      }
      dimensions[0] = count;
      MemorySegment part = data.asSlice(first * rowBytes, count * rowBytes);
      inputs.put(spec.name(), tensor(spec, Shape.of(dimensions), part));
    }
    return inputs;
  }

  /**
   * Fills rows so that not all are alike; those of one input and the next differ otherwise: what is
   * computed of both is not the same in all rows.
   *
   * @param place which input it is
   */
  private static void fillRows(
      TensorType type, int place, MemorySegment data, int rows, Random random) {
    MadeUpNumbers.fill(type, data, random);
    long rowBytes = data.byteSize() / rows;
    switch (type) {
      case FP16, BF16, FP32, FP64 -> {}
      case UINT8, INT8, UINT16, INT16, INT32, INT64, BOOL, UINT32, UINT64, BYTES -> {
        for (int row = 0; row < rows && rowBytes > 0; row++) {
          data.set(JAVA_BYTE, row * rowBytes, (byte) (row >> place % 2 & 1));
        }
      }
    }
  }

  private static void enlarge(TensorType type, MemorySegment row, int factor) {
    for (long i = 0; type == TensorType.FP32 && i < row.byteSize() / Float.BYTES; i++) {
      row.setAtIndex(JAVA_FLOAT, i, factor * row.getAtIndex(JAVA_FLOAT, i));
    }
  }

  private static Shape closed(Shape shape, long openDimension) {
    long[] dimensions = shape.toArray();
    for (int i = 0; i < dimensions.length; i++) {
      dimensions[i] = dimensions[i] < 0 ? openDimension : dimensions[i];
    }
    return Shape.of(dimensions);
  }

  private MemorySegment allocate(TensorSpec spec, Shape shape) {
    int width = spec.type().byteWidth();
    if (width == 0) {
      throw new StatusException(
          Status.UNIMPLEMENTED,
          "input \"%s\" (%s %s) cannot be made up".formatted(spec.name(), spec.type(), shape));
    }
    if (elements(shape) > (LIMIT.bytes() - bytes) / width) {
      throw new StatusException(
          Status.TOO_LARGE,
          "inputs up to \"%s\" (%s %s) are more than the %s that are made up"
              .formatted(spec.name(), spec.type(), shape, LIMIT));
    }
    long size = shape.elements() * width;
    bytes += size;
    return arena.allocate(Math.max(1, size), 64).asSlice(0, size);
  }

  private OrtTensor tensor(TensorSpec spec, Shape shape, MemorySegment data) {
    return OrtTensor.over(environment, data.address(), data.byteSize(), spec.type(), shape);
  }

  private static long elements(Shape shape) {
    try {
      return shape.elements();
    } catch (ArithmeticException e) {
      return Long.MAX_VALUE;
    }
  }
}
