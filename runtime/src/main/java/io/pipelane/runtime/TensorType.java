package io.pipelane.runtime;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import java.util.Arrays;
import java.util.Map;
import java.util.function.Function;
import java.util.stream.Collectors;

/** The element types of tensors, with their names in the protocol and their numbers in ONNX. */
public enum TensorType {
  FP32(1, 4),
  UINT8(2, 1),
  INT8(3, 1),
  UINT16(4, 2),
  INT16(5, 2),
  INT32(6, 4),
  INT64(7, 8),
  /** Strings of any length; on the wire a 32-bit little-endian length and the bytes. */
  BYTES(8, 0),
  BOOL(9, 1),
  FP16(10, 2),
  FP64(11, 8),
  UINT32(12, 4),
  UINT64(13, 8),
  BF16(16, 2);

  private static final Map<Integer, TensorType> BY_ONNX =
      Arrays.stream(values()).collect(Collectors.toMap(t -> t.onnx, Function.identity()));
  private static final Map<String, TensorType> BY_NAME =
      Arrays.stream(values()).collect(Collectors.toMap(Enum::name, Function.identity()));

  private final int onnx;
  private final int byteWidth;

  TensorType(int onnx, int byteWidth) {
    this.onnx = onnx;
    this.byteWidth = byteWidth;
  }

  /** The number ONNX gives the type ({@code TensorProto.DataType}; ONNX Runtime uses the same). */
  public int onnx() {
    return onnx;
  }

  /** Bytes an element takes; 0 for {@link #BYTES}, whose elements differ in length. */
  public int byteWidth() {
    return byteWidth;
  }

  /** Whether an ONNX number is that of a type of numbers which has a name in the protocol. */
  public static boolean isNumber(int onnx) {
    return BY_ONNX.containsKey(onnx) && onnx != BYTES.onnx;
  }

  /**
   * The type with an ONNX number.
   *
   * @throws StatusException {@link Status#UNIMPLEMENTED} for types without a protocol name
   */
  public static TensorType ofOnnx(int onnx) {
    TensorType type = BY_ONNX.get(onnx);
    if (type == null) {
      throw new StatusException(
          Status.UNIMPLEMENTED, "ONNX element type " + onnx + " cannot be served");
    }
    return type;
  }

  /**
   * The type with a protocol name such as {@code FP32}; names are case-sensitive.
   *
   * @throws StatusException {@link Status#INVALID_ARGUMENT} for unknown names
   */
  public static TensorType ofName(String name) {
    TensorType type = BY_NAME.get(name);
    if (type == null) {
      throw new StatusException(
          Status.INVALID_ARGUMENT,
          "datatype \"" + name + "\" is unknown; use one of " + Arrays.toString(values()));
    }
    return type;
  }
}
