package io.pipelane.server.http;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.opentelemetry.api.common.AttributeKey;
import io.opentelemetry.sdk.trace.data.SpanData;
import io.opentelemetry.sdk.trace.data.StatusData;
import io.pipelane.server.net.Backends;
import io.pipelane.server.observability.Tracings;
import io.pipelane.server.statistics.InferenceStatistics;
import java.nio.charset.StandardCharsets;
import org.junit.jupiter.api.Test;

/** The trace of a request, in and out. */
class TracedRequestTest {
  private static final String TRACE = "4bf92f3577b34da6a3ce929d0e0e4736";
  private static final String HEADER = "traceparent: 00-" + TRACE + "-00f067aa0ba902b7-01\r\n";

  private static byte[] request(int width) {
    String json =
        "{\"inputs\":[{\"name\":\"x\",\"datatype\":\"FP32\",\"shape\":[1,%d],\"data\":[1,2,3,4]}]}"
            .formatted(width);
    return Requests.post("/v2/models/echo/infer", Requests.bytes(json, new byte[0]), HEADER);
  }

  private static Conversation conversation(InferenceStatistics statistics) {
    return new Conversation(
        Backends.of(FakeCatalog.usual(), EchoService.inline(), statistics), Runnable::run);
  }

  @Test
  void answer_namesTheCallersTraceAndItsOwnSpan() {
    try (Tracings traces = new Tracings(1);
        Conversation conversation = conversation(new InferenceStatistics(traces.tracing))) {
      Reply reply = conversation.send(request(4)).onlyReply();
      assertEquals(200, reply.status());
      String span = traces.span("infer").getSpanId();
      assertEquals("00-" + TRACE + "-" + span + "-01", reply.header("traceparent"));
      assertEquals(TRACE, traces.span("execute").getTraceId());
    }
  }

  @Test
  void refusal_namesItToo() {
    try (Tracings traces = new Tracings(1);
        Conversation conversation = conversation(new InferenceStatistics(traces.tracing))) {
      Reply reply = conversation.send(request(5)).onlyReply();
      assertEquals(400, reply.status());
      assertTrue(String.valueOf(reply.header("traceparent")).startsWith("00-" + TRACE));
      assertEquals(1, traces.spans());
    }
  }

  @Test
  void requestForAModelThatIsNotThere_isTracedAsItsCallersError() {
    try (Tracings traces = new Tracings(1);
        Conversation conversation = conversation(new InferenceStatistics(traces.tracing))) {
      Reply reply =
          conversation
              .send(Requests.post("/v2/models/none/infer", new byte[] {'{', '}'}, HEADER))
              .onlyReply();
      assertEquals(404, reply.status());
      SpanData span = traces.span("infer");
      assertEquals("00-" + TRACE + "-" + span.getSpanId() + "-01", reply.header("traceparent"));
      assertEquals(StatusData.unset(), span.getStatus());
      assertEquals("none", span.getAttributes().get(AttributeKey.stringKey("pipelane.model")));
      assertEquals("NOT_FOUND", span.getAttributes().get(AttributeKey.stringKey("error.type")));
    }
  }

  @Test
  void answer_withoutTracing_saysNothingOfIt() {
    try (Conversation conversation = conversation(new InferenceStatistics())) {
      String head =
          new String(conversation.send(request(4)).received(), StandardCharsets.ISO_8859_1);
      assertFalse(head.contains("traceparent"), head);
    }
  }
}
