package io.pipelane.server.observability;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.opentelemetry.api.trace.StatusCode;
import io.opentelemetry.sdk.trace.data.SpanData;
import io.pipelane.config.Status;
import io.pipelane.modelstore.ModelVersion;
import io.pipelane.server.observability.TraceSetting.Level;
import io.pipelane.server.statistics.InferenceStatistics;
import io.pipelane.server.statistics.RequestAccount;
import io.pipelane.switcher.InferenceTimings;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.TreeMap;
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
          "{pipelane.batch=4, pipelane.model=ocr, pipelane.version=3}", attributes(request));
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

  /** The thread that encodes may be busy with something else for longer than it encodes. */
  @Test
  void request_encodedLaterThanItRan_tellsTheHandOverApart() {
    try (Tracings traces = new Tracings(1)) {
      RequestAccount account = new InferenceStatistics(traces.tracing).begin(MODEL, _ -> null);
      account.decoded(OptionalLong.empty());
      account.ran(new InferenceTimings(0, 0, 1));
      account.encoding();
      account.answered();
      SpanData handOver = traces.span("hand-over");
      assertEquals(traces.span("infer").getSpanId(), handOver.getParentSpanId());
      assertEquals(traces.span("execute").getEndEpochNanos(), handOver.getStartEpochNanos());
      assertEquals(traces.span("encode").getStartEpochNanos(), handOver.getEndEpochNanos());
    }
  }

  @Test
  void request_thatTakesMicroseconds_hasItsStepsWithinItsOwnTime() {
    for (int i = 0; i < 10; i++) {
      try (Tracings traces = new Tracings(1)) {
        RequestAccount account = new InferenceStatistics(traces.tracing).begin(MODEL, _ -> null);
        account.decoded(OptionalLong.empty());
        account.ran(new InferenceTimings(0, 0, 1_000));
        account.answered();
        SpanData request = traces.span("infer");
        assertTrue(request.getStartEpochNanos() <= traces.span("decode").getStartEpochNanos());
        assertEquals(traces.span("encode").getEndEpochNanos(), request.getEndEpochNanos());
      }
    }
  }

  private static InferenceTimings timings(int segments) {
    long[] nanos = new long[segments];
    Arrays.fill(nanos, 1_000);
    return new InferenceTimings(1_000, 2_000, 2_000 + 1_000L * segments, nanos);
  }

  @Test
  void run_thatTellsOfItsSegments_hasSpansOfThem_inABoundedNumber() {
    for (int segments : new int[] {1, 16, 100}) {
      try (Tracings traces = new Tracings(1)) {
        RequestAccount account = new InferenceStatistics(traces.tracing).begin(MODEL, _ -> null);
        account.decoded(OptionalLong.empty());
        account.ran(timings(segments));
        account.answered();
        SpanData run = traces.span("execute");
        List<SpanData> spans = traces.all("segment");
        assertEquals(Math.min(16, segments), spans.size());
        long next = traces.span("stall").getEndEpochNanos();
        for (SpanData span : spans) {
          assertEquals(run.getSpanId(), span.getParentSpanId());
          assertEquals(next, span.getStartEpochNanos());
          next = span.getEndEpochNanos();
        }
        assertEquals(run.getEndEpochNanos(), next);
        assertEquals(
            "{pipelane.segment.first=%d, pipelane.segment.last=%d}"
                .formatted((spans.size() - 1) * segments / spans.size(), segments - 1),
            attributes(spans.getLast()));
      }
    }
  }

  @Test
  void request_thatWasSeveralSteps_hasThemAsChildren_withWhatIsInThem() {
    try (Tracings traces = new Tracings(1)) {
      RequestAccount account = new InferenceStatistics(traces.tracing).begin(MODEL, _ -> null);
      account.decoded(OptionalLong.empty());
      long begin = System.nanoTime();
      List<InferenceTimings.Step> steps =
          List.of(
              new InferenceTimings.Step(
                  new ModelVersion("find", 1), begin, begin + 9_000, timings(2)),
              new InferenceTimings.Step(
                  new ModelVersion("read", 2), begin + 9_000, begin + 20_000, timings(0)));
      account.ran(new InferenceTimings(2_000, 4_000, 8_000).of(steps));
      account.answered();
      List<SpanData> spans = traces.all("step");
      String request = traces.span("infer").getSpanId();
      assertEquals(
          List.of(request, request), spans.stream().map(SpanData::getParentSpanId).toList());
      assertEquals("{pipelane.model=find, pipelane.version=1}", attributes(spans.getFirst()));
      assertEquals("{pipelane.model=read, pipelane.version=2}", attributes(spans.getLast()));
      assertEquals(
          spans.stream().map(SpanData::getSpanId).toList(),
          traces.all("execute").stream().map(SpanData::getParentSpanId).toList());
      assertEquals(
          List.of(traces.all("execute").getFirst().getSpanId()),
          traces.all("segment").stream().map(SpanData::getParentSpanId).distinct().toList());
      assertEquals(11_000, nanos(spans.getLast()));
    }
  }

  /** In the order of their names; a span has them in no order. */
  private static String attributes(SpanData span) {
    Map<String, Object> attributes = new TreeMap<>();
    span.getAttributes().forEach((key, value) -> attributes.put(key.getKey(), value));
    return attributes.toString();
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
  void request_thatItsCallerIsToBlameFor_isNoErrorOfTheServer() {
    try (Tracings traces = new Tracings(1)) {
      new InferenceStatistics(traces.tracing).begin(MODEL, _ -> null).failed(Status.NOT_FOUND);
      SpanData request = traces.span("infer");
      assertEquals(StatusCode.UNSET, request.getStatus().getStatusCode());
      assertTrue(attributes(request).contains("NOT_FOUND"));
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
}
