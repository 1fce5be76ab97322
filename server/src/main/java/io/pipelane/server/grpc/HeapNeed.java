package io.pipelane.server.grpc;

import com.google.protobuf.CodedInputStream;
import com.google.protobuf.WireFormat;
import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.protocol.grpc.ModelInferRequest;
import io.pipelane.protocol.grpc.ModelInferRequest.InferInputTensor;
import java.io.IOException;

/**
 * What reading an inference's message needs of Java's heap, told from how it was written before it
 * is read. Elements of tensors are data. All else describes: names, shapes, parameters, that there
 * is a tensor at all, and what nobody knows. Two bytes of that become an object of dozens, so that
 * a message as large as tensors may be would fill the heap: it may be no more than {@link
 * #MOST_DESCRIBING_BYTES}.
 */
final class HeapNeed {
  /** What a message may have beside its tensors' data. */
  static final int MOST_DESCRIBING_BYTES = 1 << 20;

  private static final int BYTES_OF_DESCRIBING_BYTE = 40;

  private final CodedInputStream fields;
  private final ElementsOnHeap elements;
  private long dataBytes;
  private long heapBytes;

  private HeapNeed(CodedInputStream fields) {
    this.fields = fields;
    this.elements = new ElementsOnHeap(fields);
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
   * Looks through a message.
   *
   * @return bytes of Java's heap, at most
   * @throws StatusException {@link Status#TOO_LARGE} when it says more than it may
   * @throws IOException when it is no message
   */
  static long of(CodedInputStream message) throws IOException {
    int _ = message.setSizeLimit(Integer.MAX_VALUE);
    HeapNeed look = new HeapNeed(message);
    look.add(Part.MESSAGE);
    return look.heapBytes + BYTES_OF_DESCRIBING_BYTE * look.describingBytes();
  }

  private long describingBytes() {
    return fields.getTotalBytesRead() - dataBytes;
  }

  /** Looks through a part as far as a limit of the stream. */
  private void add(Part part) throws IOException {
    int begin = fields.getTotalBytesRead();
    for (int tag = fields.readTag(); tag != 0; tag = fields.readTag()) {
      int number = WireFormat.getTagFieldNumber(tag);
      int type = WireFormat.getTagWireType(tag);
      boolean hasLength = type == WireFormat.WIRETYPE_LENGTH_DELIMITED;
      if (hasLength && part.hasInner(number)) {
        int outer = fields.pushLimit(fields.readRawVarint32());
        add(part.inner());
        fields.popLimit(outer);
      } else if (hasLength
          && part == Part.MESSAGE
          && number == ModelInferRequest.RAW_INPUT_CONTENTS_FIELD_NUMBER) {
        int size = fields.readRawVarint32();
        fields.skipRawBytes(size);
        dataBytes += size;
        heapBytes += 2L * size; // Copied once more as they are read.
      } else if (part == Part.CONTENTS && ElementsOnHeap.areIn(number, type)) {
        heapBytes += hasLength ? elements.packed(number) : elements.single(tag);
        dataBytes += fields.getTotalBytesRead() - begin;
      } else if (!fields.skipField(tag)) {
        return;
      }
      if (describingBytes() > MOST_DESCRIBING_BYTES) {
        throw new StatusException(
            Status.TOO_LARGE,
            "the message says more than %d bytes beside its tensors' data; ask for less at a time"
                .formatted(MOST_DESCRIBING_BYTES));
      }
      begin = fields.getTotalBytesRead();
    }
  }
}
