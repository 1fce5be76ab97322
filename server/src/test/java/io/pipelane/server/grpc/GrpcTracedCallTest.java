package io.pipelane.server.grpc;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.grpc.Metadata;
import io.grpc.stub.MetadataUtils;
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

  @Test
  void answer_namesTheCallersTraceAndItsOwnSpan() {
    try (Tracings traces = new Tracings(1);
        GrpcConversation conversation =
            new GrpcConversation(
                catalog ->
                    Backends.of(
                        catalog, EchoService.inline(), new InferenceStatistics(traces.tracing)))) {
      Metadata headers = new Metadata();
      headers.put(GrpcTracing.TRACEPARENT, "00-" + TRACE + "-00f067aa0ba902b7-01");
      AtomicReference<Metadata> answered = new AtomicReference<>();
      var _ =
          conversation
              .client()
              .withInterceptors(
                  MetadataUtils.newAttachHeadersInterceptor(headers),
                  MetadataUtils.newCaptureMetadataInterceptor(answered, new AtomicReference<>()))
              .modelInfer(Inferences.raw("echo", 1, 2, 3, 4));
      assertEquals(
          "00-" + TRACE + "-" + traces.span("infer").getSpanId() + "-01",
          Objects.requireNonNull(answered.get()).get(GrpcTracing.TRACEPARENT));
    }
  }
}
