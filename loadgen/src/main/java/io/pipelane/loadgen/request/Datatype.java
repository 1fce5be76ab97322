package io.pipelane.loadgen.request;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import java.util.Arrays;

/** The protocol's element types. */
enum Datatype {
  BOOL(1),
  UINT8(1),
  UINT16(2),
  UINT32(4),
  UINT64(8),
  INT8(1),
  INT16(2),
  INT32(4),
  INT64(8),
  FP16(2),
  BF16(2),
  FP32(4),
  FP64(8),
  /** Strings, each a 32-bit length and its bytes. */
  BYTES(0);

  private final int width;

  Datatype(int width) {
    this.width = width;
  }

  /** Bytes of an element; 0 for {@link #BYTES}. */
  int width() {
    return width;
  }

  /** Whether elements may be fractions, infinite, or no numbers at all. */
  boolean isFloating() {
    return switch (this) {
      case FP16, BF16, FP32, FP64 -> true;
      case BOOL, UINT8, UINT16, UINT32, UINT64, INT8, INT16, INT32, INT64, BYTES -> false;
    };
  }

  static Datatype of(TensorMetadata tensor) {
    return Arrays.stream(values())
        .filter(type -> type.name().equals(tensor.datatype()))
        .findAny()
        .orElseThrow(
            () ->
                new StatusException(
                    Status.UNIMPLEMENTED,
                    "input \"%s\" has datatype %s, which is not one of %s"
                        .formatted(tensor.name(), tensor.datatype(), Arrays.toString(values()))));
  }
}
