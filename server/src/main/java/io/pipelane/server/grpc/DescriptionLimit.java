package io.pipelane.server.grpc;

import com.google.protobuf.CodedInputStream;
import com.google.protobuf.WireFormat;
import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.protocol.grpc.ModelInferRequest;
import io.pipelane.protocol.grpc.ModelInferRequest.InferInputTensor;
import java.io.IOException;

/**
 * The limit on what an inference's message says beside its tensors' data: names, shapes,
 * parameters, and that there is a tensor at all. Two bytes of that become an object of dozens, so
 * that a message as large as tensors may be would fill Java's heap.
 */
final class DescriptionLimit {
  /** What a message may have beside its tensors' data. */
  static final int MOST_BYTES = 1 << 20;

  private DescriptionLimit() {}

  /**
   * Looks through a message before it is read.
   *
   * @throws StatusException {@link Status#TOO_LARGE} when it says more than it may
   * @throws IOException when it is no message
   */
  static void check(CodedInputStream message) throws IOException {
    int _ = message.setSizeLimit(Integer.MAX_VALUE);
    check(message, ModelInferRequest.RAW_INPUT_CONTENTS_FIELD_NUMBER, 0);
  }

  /** The same as far as a limit; returns the bytes of data that it has skipped in all. */
  private static int check(CodedInputStream fields, int dataField, int earlier) throws IOException {
    int data = earlier;
    for (int tag = fields.readTag(); tag != 0; tag = fields.readTag()) {
      int number = WireFormat.getTagFieldNumber(tag);
      boolean hasLength = WireFormat.getTagWireType(tag) == WireFormat.WIRETYPE_LENGTH_DELIMITED;
      boolean isWhole = dataField == ModelInferRequest.RAW_INPUT_CONTENTS_FIELD_NUMBER;
      if (hasLength && number == dataField) {
        int size = fields.readRawVarint32();
        fields.skipRawBytes(size);
        data += size;
      } else if (hasLength && isWhole && number == ModelInferRequest.INPUTS_FIELD_NUMBER) {
        int outer = fields.pushLimit(fields.readRawVarint32());
        data = check(fields, InferInputTensor.CONTENTS_FIELD_NUMBER, data);
        fields.popLimit(outer);
      } else if (!fields.skipField(tag)) {
        return data;
      }
      if (fields.getTotalBytesRead() - data > MOST_BYTES) {
        throw new StatusException(
            Status.TOO_LARGE,
            "the message says more than %d bytes beside its tensors' data; ask for less at a time"
                .formatted(MOST_BYTES));
      }
    }
    return data;
  }
}
