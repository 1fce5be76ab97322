package io.pipelane.modelstore.importing;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_DOUBLE;
import static java.lang.foreign.ValueLayout.JAVA_FLOAT;
import static java.lang.foreign.ValueLayout.JAVA_SHORT;

import io.pipelane.config.ByteSize;
import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.runtime.OrtEnvironment;
import io.pipelane.runtime.OrtTensor;
import io.pipelane.runtime.Shape;
import io.pipelane.runtime.TensorSpec;
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
      inputs.put(spec.name(), of(spec, openDimension, random));
    }
    return inputs;
  }

  private OrtTensor of(TensorSpec spec, long openDimension, Random random) {
    long[] dimensions = spec.shape().toArray();
    for (int i = 0; i < dimensions.length; i++) {
      dimensions[i] = dimensions[i] < 0 ? openDimension : dimensions[i];
    }
    Shape shape = Shape.of(dimensions);
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
    bytes += shape.elements() * width;
    MemorySegment data = arena.allocate(Math.max(1, shape.elements() * width), 64);
    for (long i = 0; i < shape.elements(); i++) {
      switch (spec.type()) {
        case FP32 -> data.setAtIndex(JAVA_FLOAT, i, (float) random.nextGaussian());
        case FP64 -> data.setAtIndex(JAVA_DOUBLE, i, random.nextGaussian());
        case FP16 ->
            data.setAtIndex(JAVA_SHORT, i, Float.floatToFloat16((float) random.nextGaussian()));
        case BF16, BYTES -> {}
        case UINT8, INT8, UINT16, INT16, INT32, INT64, BOOL, UINT32, UINT64 ->
            data.set(JAVA_BYTE, i * width, (byte) random.nextInt(2));
      }
    }
    return OrtTensor.over(
        environment, data.address(), shape.elements() * width, spec.type(), shape);
  }

  private static long elements(Shape shape) {
    try {
      return shape.elements();
    } catch (ArithmeticException e) {
      return Long.MAX_VALUE;
    }
  }
}
