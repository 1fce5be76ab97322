package io.pipelane.server.grpc;

import io.grpc.MethodDescriptor.Marshaller;
import io.pipelane.protocol.grpc.ModelInferRequest;
import io.pipelane.server.memory.HeapRoom;
import java.io.InputStream;

/**
 * The marshaller that takes inference messages as they come. Bytes that are no message are handed
 * on, too, so that the call is refused as the caller's mistake; thrown, they would count and be
 * logged as a fault of the server.
 *
 * @param room of the heap, for what is large
 */
record IncomingMarshaller(Marshaller<ModelInferRequest> generated, HeapRoom room)
    implements Marshaller<IncomingMessage> {
  @Override
  public IncomingMessage parse(InputStream stream) {
    return new IncomingMessage(stream, generated, room);
  }

  @Override
  public InputStream stream(IncomingMessage message) {
    return generated.stream(message.parse());
  }
}
