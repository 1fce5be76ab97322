package io.pipelane.server.grpc;

import io.grpc.MethodDescriptor;
import io.grpc.StatusRuntimeException;
import io.pipelane.protocol.grpc.ModelInferRequest;
import java.io.InputStream;

/**
 * Parses inference messages. Bytes that are no message are handed on as {@link #MALFORMED}, so that
 * the call is refused as the caller's mistake; thrown, they would count and be logged as a fault of
 * the server.
 */
final class InferRequestMarshaller implements MethodDescriptor.Marshaller<ModelInferRequest> {
  private static final ModelInferRequest MALFORMED = ModelInferRequest.newBuilder().build();

  private final MethodDescriptor.Marshaller<ModelInferRequest> generated;

  InferRequestMarshaller(MethodDescriptor.Marshaller<ModelInferRequest> generated) {
    this.generated = generated;
  }

  /** Whether a message stands for bytes that could not be parsed. */
  @SuppressWarnings("ReferenceEquality") // an empty message that was sent is another
  static boolean isMalformed(ModelInferRequest message) {
    return message == MALFORMED;
  }

  @Override
  public InputStream stream(ModelInferRequest message) {
    return generated.stream(message);
  }

  @Override
  public ModelInferRequest parse(InputStream stream) {
    try {
      return generated.parse(stream);
    } catch (StatusRuntimeException e) {
      return MALFORMED;
    }
  }
}
