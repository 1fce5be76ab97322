package io.pipelane.server.grpc;

import com.google.protobuf.CodedInputStream;
import com.google.protobuf.WireFormat;
import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.protocol.grpc.InferTensorContents;
import io.pipelane.protocol.grpc.ModelInferRequest;
import io.pipelane.protocol.grpc.ModelInferRequest.InferInputTensor;
import java.io.IOException;

/**
 * The limit on what an inference's message says beside its tensors' data: names, shapes,
 * parameters, that there is a tensor at all, and what nobody knows. Two bytes of that become an
 * object of dozens, so that a message as large as tensors may be would fill Java's heap. Elements
 * of tensors are data. What they take of the heap is told from how they were written.
 */
final class DescriptionLimit {
  /*
   * A list grows by halves and has the old array beside the new one meanwhile. Raw contents are
   * copied once more as they are read. A string is an object and an array, with a place in a list.
   */

  /** What a message may have beside its tensors' data. */
  static final int MOST_BYTES = 1 << 20;

  private static final long HEAP_BYTES_OF_STRING = 64;
  private static final int HEAP_BYTES_OF_DESCRIBING_BYTE = 40;

  private final CodedInputStream fields;
  private long dataBytes;
  private long heapBytes;

  private DescriptionLimit(CodedInputStream fields) {
    this.fields = fields;
  }

  private enum Part {
    MESSAGE,
    INPUT,
    CONTENTS;

    /** Whether a field is looked into. */
    boolean hasInner(int number) {
      return switch (this) {
        case MESSAGE -> number == ModelInferRequest.INPUTS_FIELD_NUMBER;
        case INPUT -> number == InferInputTensor.CONTENTS_FIELD_NUMBER;
        case CONTENTS -> false;
      };
    }

    Part inner() {
      return this == MESSAGE ? INPUT : CONTENTS;
    }
  }

  /**
   * Looks through a message before it is read.
   *
   * @return what reading it takes of Java's heap at most
   * @throws StatusException {@link Status#TOO_LARGE} when it says more than it may
   * @throws IOException when it is no message
   */
  static long check(CodedInputStream message) throws IOException {
    int _ = message.setSizeLimit(Integer.MAX_VALUE);
    DescriptionLimit look = new DescriptionLimit(message);
    look.check(Part.MESSAGE);
    return look.heapBytes + HEAP_BYTES_OF_DESCRIBING_BYTE * look.describingBytes();
  }

  private long describingBytes() {
    return fields.getTotalBytesRead() - dataBytes;
  }

  /** The same as far as a limit. */
  private void check(Part part) throws IOException {
    int begin = fields.getTotalBytesRead();
    for (int tag = fields.readTag(); tag != 0; tag = fields.readTag()) {
      int number = WireFormat.getTagFieldNumber(tag);
      int type = WireFormat.getTagWireType(tag);
      boolean hasLength = type == WireFormat.WIRETYPE_LENGTH_DELIMITED;
      if (hasLength && part.hasInner(number)) {
        int outer = fields.pushLimit(fields.readRawVarint32());
        check(part.inner());
        fields.popLimit(outer);
      } else if (hasLength
          && part == Part.MESSAGE
          && number == ModelInferRequest.RAW_INPUT_CONTENTS_FIELD_NUMBER) {
        int size = fields.readRawVarint32();
        fields.skipRawBytes(size);
        dataBytes += size;
        heapBytes += 2L * size;
      } else if (part == Part.CONTENTS && isOfElements(number, type)) {
        heapBytes += hasLength ? packedOnHeap(number) : singleOnHeap(tag);
        dataBytes += fields.getTotalBytesRead() - begin;
      } else if (!fields.skipField(tag)) {
        return;
      }
      if (describingBytes() > MOST_BYTES) {
        throw new StatusException(
            Status.TOO_LARGE,
            "the message says more than %d bytes beside its tensors' data; ask for less at a time"
                .formatted(MOST_BYTES));
      }
      begin = fields.getTotalBytesRead();
    }
  }

  /** Whether a field is read as elements: one, or several packed. Else it is an unknown field. */
  private static boolean isOfElements(int number, int type) {
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

  /** Passes over a number; what it becomes. */
  private long singleOnHeap(int tag) throws IOException {
    boolean _ = fields.skipField(tag);
    return list(1, width(WireFormat.getTagFieldNumber(tag)));
  }

  /** Passes over a string, or numbers that are packed; what they become. */
  private long packedOnHeap(int number) throws IOException {
    int size = fields.readRawVarint32();
    return switch (number) {
      case InferTensorContents.BYTES_CONTENTS_FIELD_NUMBER -> {
        fields.skipRawBytes(size);
        yield HEAP_BYTES_OF_STRING + size;
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
