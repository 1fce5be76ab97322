package io.pipelane.server.grpc;

import io.grpc.MethodDescriptor;
import io.grpc.ServerInterceptors;
import io.grpc.ServerMethodDefinition;
import io.grpc.ServerServiceDefinition;
import io.grpc.ServiceDescriptor;
import io.grpc.stub.ServerCallStreamObserver;
import io.grpc.stub.ServerCalls;
import io.pipelane.protocol.grpc.GRPCInferenceServiceGrpc;
import io.pipelane.protocol.grpc.ModelInferRequest;
import io.pipelane.protocol.grpc.ModelInferResponse;
import io.pipelane.protocol.grpc.ModelStreamInferResponse;
import io.pipelane.server.memory.HeapRoom;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** The gRPC service of the Open Inference Protocol, with who answers each of its calls. */
final class InferenceCalls {
  private InferenceCalls() {}

  /**
   * The service with all its calls.
   *
   * @param forwarding says which calls others answer; null where there are no others
   * @param lasting tells streams that the server stops
   */
  static ServerServiceDefinition of(
      InferenceParts parts, @Nullable CallForwarding forwarding, LastingCalls lasting) {
    ServerServiceDefinition generated = UnreadableMessages.refusedBy(questions(parts, forwarding));
    List<ServerMethodDefinition<?, ?>> methods = new ArrayList<>();
    for (ServerMethodDefinition<?, ?> method : generated.getMethods()) {
      String name = method.getMethodDescriptor().getFullMethodName();
      if (name.equals(GRPCInferenceServiceGrpc.getModelInferMethod().getFullMethodName())) {
        methods.add(modelInfer(parts, forwarding));
      } else if (name.equals(
          GRPCInferenceServiceGrpc.getModelStreamInferMethod().getFullMethodName())) {
        methods.add(modelStreamInfer(parts, lasting));
      } else {
        methods.add(method);
      }
    }
    ServiceDescriptor.Builder descriptor =
        ServiceDescriptor.newBuilder(GRPCInferenceServiceGrpc.SERVICE_NAME)
            .setSchemaDescriptor(generated.getServiceDescriptor().getSchemaDescriptor());
    methods.forEach(method -> descriptor.addMethod(method.getMethodDescriptor()));
    ServerServiceDefinition.Builder service = ServerServiceDefinition.builder(descriptor.build());
    methods.forEach(service::addMethod);
    return service.build();
  }

  private static ServerServiceDefinition questions(
      InferenceParts parts, @Nullable CallForwarding forwarding) {
    ServerServiceDefinition service = new InferenceGrpcService(parts, forwarding).bindService();
    return forwarding == null
        ? service
        : ServerInterceptors.intercept(service, new ClientMetadata());
  }

  private static ServerMethodDefinition<IncomingMessage, ModelInferResponse> modelInfer(
      InferenceParts parts, @Nullable CallForwarding forwarding) {
    MethodDescriptor<ModelInferRequest, ModelInferResponse> method =
        GRPCInferenceServiceGrpc.getModelInferMethod();
    return ServerMethodDefinition.create(
        method.toBuilder(
                new IncomingMarshaller(method.getRequestMarshaller(), HeapRoom.OF_REQUESTS),
                method.getResponseMarshaller())
            .build(),
        new InferCallHandler(parts, forwarding));
  }

  private static ServerMethodDefinition<IncomingMessage, StreamAnswer> modelStreamInfer(
      InferenceParts parts, LastingCalls lasting) {
    MethodDescriptor<ModelInferRequest, ModelStreamInferResponse> method =
        GRPCInferenceServiceGrpc.getModelStreamInferMethod();
    return ServerMethodDefinition.create(
        method.toBuilder(
                new IncomingMarshaller(method.getRequestMarshaller(), HeapRoom.OF_REQUESTS),
                new StreamAnswer.Marshaller(method.getResponseMarshaller()))
            .build(),
        ServerCalls.asyncBidiStreamingCall(
            observer ->
                new InferStream(
                    parts, lasting, (ServerCallStreamObserver<StreamAnswer>) observer)));
  }
}
