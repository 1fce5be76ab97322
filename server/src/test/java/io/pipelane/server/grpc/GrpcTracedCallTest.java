package io.pipelane.server.grpc;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import com.google.protobuf.ByteString;
import io.grpc.ClientInterceptor;
import io.grpc.Metadata;
import io.grpc.StatusRuntimeException;
import io.grpc.stub.MetadataUtils;
import io.pipelane.protocol.grpc.GRPCInferenceServiceGrpc.GRPCInferenceServiceBlockingStub;
import io.pipelane.protocol.grpc.ModelInferRequest;
import io.pipelane.server.http.EchoService;
import io.pipelane.server.net.Backends;
import io.pipelane.server.observability.Tracings;
import io.pipelane.server.statistics.InferenceStatistics;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The trace of a call, in and out. */
@Timeout(60)
class GrpcTracedCallTest {
  private static final String TRACE = "4bf92f3577b34da6a3ce929d0e0e4736";

  private static GrpcConversation conversation(Tracings traces) {
    return new GrpcConversation(
        catalog ->
            Backends.of(catalog, EchoService.inline(), new InferenceStatistics(traces.tracing)));
  }

  /** What names a call's span, as the headers of its answer or its trailers have it. */
  private static String span(Tracings traces) {
    return "00-" + TRACE + "-" + traces.span("infer").getSpanId() + "-01";
  }

  private static ClientInterceptor ofCaller() {
    Metadata headers = new Metadata();
    headers.put(GrpcTracing.TRACEPARENT, "00-" + TRACE + "-00f067aa0ba902b7-01");
    return MetadataUtils.newAttachHeadersInterceptor(headers);
  }

  @Test
  void answer_namesTheCallersTraceAndItsOwnSpan() {
    try (Tracings traces = new Tracings(1);
        GrpcConversation conversation = conversation(traces)) {
      AtomicReference<Metadata> answered = new AtomicReference<>();
      var _ =
          conversation
              .client()
              .withInterceptors(
                  ofCaller(),
                  MetadataUtils.newCaptureMetadataInterceptor(answered, new AtomicReference<>()))
              .modelInfer(Inferences.raw("echo", 1, 2, 3, 4));
      assertEquals(
          span(traces), Objects.requireNonNull(answered.get()).get(GrpcTracing.TRACEPARENT));
    }
  }

  @Test
  void callForAModelThatIsNotThere_isTracedToo() {
    try (Tracings traces = new Tracings(1);
        GrpcConversation conversation = conversation(traces)) {
      GRPCInferenceServiceBlockingStub client = conversation.client().withInterceptors(ofCaller());
      StatusRuntimeException error =
          assertThrows(
              StatusRuntimeException.class, () -> client.modelInfer(Inferences.raw("none", 1)));
      assertEquals(
          span(traces), Objects.requireNonNull(error.getTrailers()).get(GrpcTracing.TRACEPARENT));
    }
  }

  @Test
  void error_namesItsSpanToo() {
    try (Tracings traces = new Tracings(1);
        GrpcConversation conversation = conversation(traces)) {
      GRPCInferenceServiceBlockingStub client = conversation.client().withInterceptors(ofCaller());
      ModelInferRequest wrong = Inferences.raw("echo", "INT8", ByteString.EMPTY, 1, 4);
      StatusRuntimeException error =
          assertThrows(StatusRuntimeException.class, () -> client.modelInfer(wrong));
      assertEquals(
          span(traces), Objects.requireNonNull(error.getTrailers()).get(GrpcTracing.TRACEPARENT));
    }
  }
}
