package io.pipelane.server.grpc;

import com.google.protobuf.ByteString;
import com.google.protobuf.UnsafeByteOperations;
import io.netty.buffer.ByteBuf;
import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.protocol.grpc.InferTensorContents;
import io.pipelane.protocol.grpc.ModelInferResponse;
import io.pipelane.protocol.grpc.ModelInferResponse.InferOutputTensor;
import io.pipelane.runtime.TensorType;
import io.pipelane.server.protocol.inference.OutputTensor;
import io.pipelane.server.shared.RegionPart;
import java.util.List;

/** The writer that turns outputs into the message that answers an inference. */
final class InferMessageWriter {
  private InferMessageWriter() {}

  /**
   * The answer, which reads raw outputs where they lie: it must be serialized before they are
   * released.
   *
   * @param outputs every output wanted, in any order; they stay the caller's
   * @throws StatusException when an output is missing
   */
  static ModelInferResponse write(MessageCall call, List<OutputTensor> outputs) {
    ModelInferResponse.Builder message =
        ModelInferResponse.newBuilder()
            .setModelName(call.model().version().model())
            .setModelVersion(Long.toString(call.model().version().version()))
            .setId(call.id());
    List<String> names = call.request().outputs();
    for (int i = 0; i < names.size(); i++) {
      String name = names.get(i);
      OutputTensor output = find(outputs, name);
      InferOutputTensor.Builder tensor =
          InferOutputTensor.newBuilder().setName(name).setDatatype(output.type().name());
      for (int axis = 0; axis < output.shape().rank(); axis++) {
        tensor.addShape(output.shape().dimension(axis));
      }
      RegionPart region = call.regions().part(i);
      if (region != null) {
        tensor.putAllParameters(RegionParameters.of(region, output.data().readableBytes()));
      } else if (call.raw()) {
        message.addRawOutputContents(bytes(output.data()));
      } else {
        tensor.setContents(contents(output));
      }
      message.addOutputs(tensor);
    }
    return message.build();
  }

  private static ByteString bytes(ByteBuf data) {
    return UnsafeByteOperations.unsafeWrap(
        data.nioBuffer(data.readerIndex(), data.readableBytes()));
  }

  private static InferTensorContents contents(OutputTensor output) {
    InferTensorContents.Builder contents = InferTensorContents.newBuilder();
    ByteBuf data = output.data().duplicate();
    while (data.isReadable()) {
      add(contents, output.type(), data);
    }
    return contents.build();
  }

  private static void add(InferTensorContents.Builder contents, TensorType type, ByteBuf data) {
    switch (type) {
      case BOOL -> contents.addBoolContents(data.readBoolean());
      case INT8 -> contents.addIntContents(data.readByte());
      case INT16 -> contents.addIntContents(data.readShortLE());
      case INT32 -> contents.addIntContents(data.readIntLE());
      case INT64 -> contents.addInt64Contents(data.readLongLE());
      case UINT8 -> contents.addUintContents(data.readUnsignedByte());
      case UINT16 -> contents.addUintContents(data.readUnsignedShortLE());
      case UINT32 -> contents.addUintContents(data.readIntLE());
      case UINT64 -> contents.addUint64Contents(data.readLongLE());
      case FP32 -> contents.addFp32Contents(data.readFloatLE());
      case FP64 -> contents.addFp64Contents(data.readDoubleLE());
      case BYTES -> {
        ByteBuf element = data.readSlice(data.readIntLE());
        contents.addBytesContents(ByteString.copyFrom(element.nioBuffer()));
      }
      case FP16, BF16 -> throw new IllegalStateException(type + " is answered raw");
    }
  }

  private static OutputTensor find(List<OutputTensor> outputs, String name) {
    for (OutputTensor output : outputs) {
      if (output.name().equals(name)) {
        return output;
      }
    }
    throw new StatusException(Status.INTERNAL, "the run gave no output \"" + name + '"');
  }
}
