package io.pipelane.server.grpc;

import com.google.protobuf.CodedInputStream;
import com.google.protobuf.WireFormat;
import io.pipelane.protocol.grpc.InferTensorContents;
import java.io.IOException;

/** The elements of a message's tensors as they will be in Java's heap, told from their bytes. */
final class ElementsOnHeap {
  /*
   * A list grows by halves and has the old array beside the new one meanwhile. A string is an
   * object and an array, with a place in a list.
   */
  private static final long BYTES_OF_STRING = 64;

  private final CodedInputStream fields;

  /** Passes over what comes next in a message, field by field. */
  ElementsOnHeap(CodedInputStream fields) {
    this.fields = fields;
  }

  /** Whether a field is read as elements: one, or several packed. Else it is an unknown field. */
  static boolean areIn(int number, int type) {
    return switch (number) {
      case InferTensorContents.BYTES_CONTENTS_FIELD_NUMBER ->
          type == WireFormat.WIRETYPE_LENGTH_DELIMITED;
      case InferTensorContents.FP32_CONTENTS_FIELD_NUMBER ->
          type == WireFormat.WIRETYPE_FIXED32 || type == WireFormat.WIRETYPE_LENGTH_DELIMITED;
      case InferTensorContents.FP64_CONTENTS_FIELD_NUMBER ->
          type == WireFormat.WIRETYPE_FIXED64 || type == WireFormat.WIRETYPE_LENGTH_DELIMITED;
      case InferTensorContents.BOOL_CONTENTS_FIELD_NUMBER,
          InferTensorContents.INT_CONTENTS_FIELD_NUMBER,
          InferTensorContents.INT64_CONTENTS_FIELD_NUMBER,
          InferTensorContents.UINT_CONTENTS_FIELD_NUMBER,
          InferTensorContents.UINT64_CONTENTS_FIELD_NUMBER ->
          type == WireFormat.WIRETYPE_VARINT || type == WireFormat.WIRETYPE_LENGTH_DELIMITED;
      default -> false;
    };
  }

  /** Passes over a number; what it becomes, in bytes. */
  long single(int tag) throws IOException {
    boolean _ = fields.skipField(tag);
    return list(1, width(WireFormat.getTagFieldNumber(tag)));
  }

  /** Passes over a string, or numbers that are packed; what they become, in bytes. */
  long packed(int number) throws IOException {
    int size = fields.readRawVarint32();
    return switch (number) {
      case InferTensorContents.BYTES_CONTENTS_FIELD_NUMBER -> {
        fields.skipRawBytes(size);
        yield BYTES_OF_STRING + size;
      }
      case InferTensorContents.FP32_CONTENTS_FIELD_NUMBER,
          InferTensorContents.FP64_CONTENTS_FIELD_NUMBER -> {
        fields.skipRawBytes(size);
        yield list(size / width(number), width(number));
      }
      default -> list(skipVarints(size), width(number));
    };
  }

  /** Passes over so many bytes of whole numbers, each of which ends with one below 0x80. */
  private int skipVarints(int size) throws IOException {
    int numbers = 0;
    for (int i = 0; i < size; i++) {
      if (fields.readRawByte() >= 0) {
        numbers++;
      }
    }
    return numbers;
  }

  private static int width(int number) {
    return switch (number) {
      case InferTensorContents.BOOL_CONTENTS_FIELD_NUMBER -> Byte.BYTES;
      case InferTensorContents.INT_CONTENTS_FIELD_NUMBER,
          InferTensorContents.UINT_CONTENTS_FIELD_NUMBER,
          InferTensorContents.FP32_CONTENTS_FIELD_NUMBER ->
          Integer.BYTES;
      default -> Long.BYTES;
    };
  }

  private static long list(int elements, int width) {
    return Math.max(1L, elements) * width * 5 / 2;
  }
}
