package io.pipelane.server.grpc;

import com.google.protobuf.CodedInputStream;
import io.netty.buffer.ByteBuf;
import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.protocol.grpc.ModelInferRequest;
import io.pipelane.server.memory.HeapRoom;
import io.pipelane.server.net.CodecThreads;
import java.io.IOException;
import java.util.List;

/**
 * A message that has not been parsed, and the model that it was sent to.
 *
 * @param bytes whoever passes this on keeps them; they are retained where they are needed for
 *     longer
 * @param version empty where only the message says, or nothing does
 */
public record AddressedMessage(ByteBuf bytes, String model, String version) {
  /**
   * Parses it.
   *
   * @param room takes what that needs of the heap, where the message is large
   * @throws StatusException {@link Status#INVALID_ARGUMENT} when it is none, or asks for another
   *     model than it was sent to; {@link Status#TOO_LARGE} when it says more than it may; and what
   *     {@link HeapRoom} says where there is no room to read it
   */
  ModelInferRequest parse(HeapRoom.Share room) {
    ModelInferRequest message;
    try {
      if (bytes.readableBytes() > CodecThreads.LARGEST_ON_LOOP) {
        room.take(HeapNeed.of(CodedInputStream.newInstance(List.of(bytes.nioBuffers()))));
      }
      message =
          ModelInferRequest.parseFrom(CodedInputStream.newInstance(List.of(bytes.nioBuffers())));
    } catch (IOException e) {
      throw new StatusException(
          Status.INVALID_ARGUMENT, "the body is no message of type ModelInferRequest", e);
    }
    check("model", message.getModelName(), model);
    if (!version.isEmpty()) {
      check("version", message.getModelVersion(), version);
    }
    return message;
  }

  private static void check(String what, String inMessage, String inPath) {
    if (!inMessage.equals(inPath)) {
      throw new StatusException(
          Status.INVALID_ARGUMENT,
          "the message names %s \"%s\", its path \"%s\"; name the same in both"
              .formatted(what, inMessage, inPath));
    }
  }
}
