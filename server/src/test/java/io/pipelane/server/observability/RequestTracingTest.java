package io.pipelane.server.observability;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.sun.net.httpserver.HttpServer;
import io.opentelemetry.api.trace.StatusCode;
import io.opentelemetry.sdk.trace.data.SpanData;
import io.pipelane.config.Ratio;
import io.pipelane.config.Status;
import io.pipelane.modelstore.ModelVersion;
import io.pipelane.server.observability.TraceSetting.Level;
import io.pipelane.server.statistics.InferenceStatistics;
import io.pipelane.server.statistics.RequestAccount;
import io.pipelane.switcher.InferenceTimings;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.OptionalLong;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class RequestTracingTest {
  private static final ModelVersion MODEL = new ModelVersion("ocr", 3);
  private static final String TRACE = "4bf92f3577b34da6a3ce929d0e0e4736";
  private static final String CALLER = "00f067aa0ba902b7";

  private static Function<String, @Nullable String> traceparent(String flags) {
    return Map.of("traceparent", "00-" + TRACE + "-" + CALLER + "-" + flags)::get;
  }

  private static void answer(RequestAccount account) {
    account.decoded(OptionalLong.empty());
    account.ran(new InferenceTimings(1_000_000, 2_000_000, 5_000_000, 4, 0));
    account.answered();
  }

  private static long nanos(SpanData span) {
    return span.getEndEpochNanos() - span.getStartEpochNanos();
  }

  @Test
  void request_answered_hasSpansOfItsSteps() {
    try (Tracings traces = new Tracings(1)) {
      RequestAccount account =
          new InferenceStatistics(traces.tracing).begin(MODEL, traceparent("01"));
      answer(account);
      SpanData request = traces.span("infer");
      assertEquals(TRACE, request.getTraceId());
      assertEquals(CALLER, request.getParentSpanId());
      assertEquals("00-" + TRACE + "-" + request.getSpanId() + "-01", account.traceparent());
      assertEquals(
          "{pipelane.model=\"ocr\", pipelane.version=3, pipelane.batch=4}", attributes(request));
      for (String step : new String[] {"decode", "queue", "execute", "encode"}) {
        assertEquals(request.getSpanId(), traces.span(step).getParentSpanId(), step);
      }
      SpanData run = traces.span("execute");
      SpanData stall = traces.span("stall");
      assertEquals(run.getSpanId(), stall.getParentSpanId());
      assertEquals(1_000_000, nanos(traces.span("queue")));
      assertEquals(5_000_000, nanos(run));
      assertEquals(2_000_000, nanos(stall));
      assertEquals(traces.span("queue").getEndEpochNanos(), run.getStartEpochNanos());
      assertEquals(6, traces.spans());
    }
  }

  private static String attributes(SpanData span) {
    StringBuilder text = new StringBuilder("{");
    span.getAttributes()
        .forEach(
            (key, value) ->
                text.append(text.length() == 1 ? "" : ", ")
                    .append(key.getKey())
                    .append('=')
                    .append(value instanceof String ? "\"" + value + "\"" : value));
    return text.append('}').toString();
  }

  @Test
  void request_failed_isAnError() {
    try (Tracings traces = new Tracings(1)) {
      new InferenceStatistics(traces.tracing).begin(MODEL, _ -> null).failed(Status.UNAVAILABLE);
      SpanData request = traces.span("infer");
      assertEquals(StatusCode.ERROR, request.getStatus().getStatusCode());
      assertEquals("0000000000000000", request.getParentSpanId());
      assertTrue(attributes(request).contains("UNAVAILABLE"));
    }
  }

  @Test
  void begin_asTheCallerHasDecided_whateverTheRatio() {
    try (Tracings traces = new Tracings(0)) {
      assertNotNull(traces.tracing.begin(MODEL, traceparent("01")));
      assertNull(traces.tracing.begin(MODEL, traceparent("00")));
      assertNull(traces.tracing.begin(MODEL, _ -> null), "by the ratio");
      assertNull(traces.tracing.begin(MODEL, Map.of("traceparent", "garbage")::get));
    }
  }

  @Test
  void begin_ofModelThatIsNotToBeTraced_isNone() {
    try (Tracings traces = new Tracings(1)) {
      traces.settings.set("ocr", new TraceChange(Level.OFF, null, null));
      assertNull(traces.tracing.begin(MODEL, traceparent("01")));
      assertNotNull(traces.tracing.begin(new ModelVersion("other", 1), _ -> null));
    }
  }

  @Test
  void account_withoutTracing_hasNoTrace() {
    InferenceStatistics statistics = new InferenceStatistics();
    assertEquals(false, statistics.traces());
    assertNull(statistics.begin(MODEL, traceparent("01")).traceparent());
  }

  @Test
  void to_collector_sendsOtlp() throws Exception {
    CompletableFuture<String> received = new CompletableFuture<>();
    HttpServer collector =
        HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
    collector.createContext(
        "/v1/traces",
        exchange -> {
          byte[] body = exchange.getRequestBody().readAllBytes();
          String type = exchange.getRequestHeaders().getFirst("Content-Type");
          exchange.sendResponseHeaders(200, -1);
          exchange.close();
          received.complete(type + " " + new String(body, StandardCharsets.ISO_8859_1));
        });
    collector.start();
    try {
      URI endpoint =
          URI.create("http://127.0.0.1:" + collector.getAddress().getPort() + "/v1/traces");
      TraceSetting all = new TraceSetting(Level.TIMESTAMPS, 1, TraceSetting.UNLIMITED);
      try (RequestTracing tracing =
          RequestTracing.to(endpoint, new Ratio(1), new TraceSettings(all))) {
        answer(new InferenceStatistics(tracing).begin(MODEL, _ -> null));
      }
      String sent = received.get(30, TimeUnit.SECONDS);
      assertTrue(sent.startsWith("application/x-protobuf "), sent);
      for (String part : new String[] {"service.name", "pipelane", "infer", "stall", "ocr"}) {
        assertTrue(sent.contains(part), part);
      }
    } finally {
      collector.stop(0);
    }
  }
}
