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
 * of tensors are data, though strings of one byte become objects, too.
 */
final class DescriptionLimit {
  /** What a message may have beside its tensors' data; a smaller one need not be looked through. */
  static final int MOST_BYTES = 1 << 20;

  private static final int LAST_CONTENTS = InferTensorContents.BYTES_CONTENTS_FIELD_NUMBER;

  private DescriptionLimit() {}

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
   * @throws StatusException {@link Status#TOO_LARGE} when it says more than it may
   * @throws IOException when it is no message
   */
  static void check(CodedInputStream message) throws IOException {
    int _ = message.setSizeLimit(Integer.MAX_VALUE);
    check(message, Part.MESSAGE, 0);
  }

  /** The same as far as a limit; returns the bytes of data that it has skipped in all. */
  private static int check(CodedInputStream fields, Part part, int earlier) throws IOException {
    int data = earlier;
    int begin = fields.getTotalBytesRead();
    for (int tag = fields.readTag(); tag != 0; tag = fields.readTag()) {
      int number = WireFormat.getTagFieldNumber(tag);
      int type = WireFormat.getTagWireType(tag);
      boolean hasLength = type == WireFormat.WIRETYPE_LENGTH_DELIMITED;
      if (hasLength && part.hasInner(number)) {
        int outer = fields.pushLimit(fields.readRawVarint32());
        data = check(fields, part.inner(), data);
        fields.popLimit(outer);
      } else if (hasLength
          && part == Part.MESSAGE
          && number == ModelInferRequest.RAW_INPUT_CONTENTS_FIELD_NUMBER) {
        int size = fields.readRawVarint32();
        fields.skipRawBytes(size);
        data += size;
      } else if (!fields.skipField(tag)) {
        return data;
      } else if (part == Part.CONTENTS
          && number <= LAST_CONTENTS
          && type != WireFormat.WIRETYPE_START_GROUP) {
        data += fields.getTotalBytesRead() - begin;
      }
      if (fields.getTotalBytesRead() - data > MOST_BYTES) {
        throw new StatusException(
            Status.TOO_LARGE,
            "the message says more than %d bytes beside its tensors' data; ask for less at a time"
                .formatted(MOST_BYTES));
      }
      begin = fields.getTotalBytesRead();
    }
    return data;
  }
}
