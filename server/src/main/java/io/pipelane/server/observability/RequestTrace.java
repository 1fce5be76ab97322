package io.pipelane.server.observability;

import io.opentelemetry.api.common.AttributeKey;
import io.opentelemetry.api.common.Attributes;
import io.opentelemetry.api.trace.Span;
import io.opentelemetry.api.trace.SpanContext;
import io.opentelemetry.api.trace.StatusCode;
import io.opentelemetry.api.trace.Tracer;
import io.opentelemetry.context.Context;
import io.opentelemetry.context.Scope;
import io.pipelane.config.Status;
import io.pipelane.switcher.InferenceTimings;
import java.util.Arrays;
import java.util.OptionalLong;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * The spans of one request that is traced: the request, and in it decoding, queue, run with its
 * stall and segments, handing its outputs over to who encodes them, and encoding. An ensemble has
 * its steps, each with what is in it. Used by one thread after another.
 */
public final class RequestTrace {
  /*
   * The request's span begins with the request, because its identity goes into the answer. Those
   * inside are made when it ends, of the times that the account has; so there is nothing to do, and
   * nothing to keep, meanwhile.
   */
  static final AttributeKey<String> MODEL = AttributeKey.stringKey("pipelane.model");
  static final AttributeKey<Long> VERSION = AttributeKey.longKey("pipelane.version");
  private static final AttributeKey<Long> FIRST = AttributeKey.longKey("pipelane.segment.first");
  private static final AttributeKey<Long> LAST = AttributeKey.longKey("pipelane.segment.last");
  private static final int MOST_SEGMENTS = 16;

  private final Tracer tracer;
  private final Span span;
  private final long epochOffsetNanos;

  /**
   * Of a request that has begun.
   *
   * @param epochOffsetNanos what its times lack to be since the epoch; its span began by the same
   */
  RequestTrace(Tracer tracer, Span span, long epochOffsetNanos) {
    this.tracer = tracer;
    this.span = span;
    this.epochOffsetNanos = epochOffsetNanos;
  }

  /** What the answer says of the trace, as W3C's header {@code traceparent}. */
  public String traceparent() {
    SpanContext context = span.getSpanContext();
    return "00-%s-%s-%s"
        .formatted(context.getTraceId(), context.getSpanId(), context.getTraceFlags().asHex());
  }

  /**
   * The request is answered. All times are {@link System#nanoTime}'s.
   *
   * @param timings of its run, which began when it had been decoded and had waited
   * @param encodingNanos when it was begun to be encoded; empty where that was when it had run
   */
  public void answered(
      long beganNanos,
      long decodedNanos,
      InferenceTimings timings,
      OptionalLong encodingNanos,
      long endedNanos) {
    span.setAttribute("pipelane.batch", timings.batch());
    Context request = Context.root().with(span);
    step(request, "decode", beganNanos, decodedNanos);
    long ranNanos = Math.min(run(request, decodedNanos, timings), endedNanos);
    long encoding = Math.max(ranNanos, encodingNanos.orElse(ranNanos));
    if (encodingNanos.isPresent()) {
      step(request, "hand-over", ranNanos, encoding);
    }
    step(request, "encode", encoding, endedNanos);
    span.end(epochOffsetNanos + endedNanos, TimeUnit.NANOSECONDS);
  }

  /** The spans of a run, or of those that a request was made of; says when the last one ended. */
  private long run(Context parent, long submittedNanos, InferenceTimings timings) {
    if (!timings.steps().isEmpty()) {
      for (InferenceTimings.Step step : timings.steps()) {
        Attributes model =
            Attributes.of(MODEL, step.model().model(), VERSION, step.model().version());
        Context inside = step(parent, "step", step.beganNanos(), step.endedNanos(), model);
        long _ = run(inside, step.beganNanos(), step.timings());
      }
      return timings.steps().getLast().endedNanos();
    }
    long runBegan = submittedNanos + timings.queueNanos();
    long runEnded = runBegan + timings.executeNanos();
    step(parent, "queue", submittedNanos, runBegan);
    Context run = step(parent, "execute", runBegan, runEnded);
    long computeBegan = runBegan + timings.stallNanos();
    if (timings.stallNanos() > 0) {
      // A run may stall several times; this is all of them together.
      step(run, "stall", runBegan, computeBegan);
    }
    segments(run, computeBegan, runEnded, timings.segmentNanos());
    return runEnded;
  }

  /** How long segments computed, neighbours together where there are many. */
  private void segments(Context run, long beganNanos, long endedNanos, long @Nullable [] nanos) {
    if (nanos == null) {
      return;
    }
    int spans = Math.min(MOST_SEGMENTS, nanos.length);
    long began = beganNanos;
    for (int i = 0; i < spans; i++) {
      int first = i * nanos.length / spans;
      int beyond = (i + 1) * nanos.length / spans;
      long ended = Math.min(endedNanos, began + Arrays.stream(nanos, first, beyond).sum());
      Attributes which = Attributes.of(FIRST, (long) first, LAST, beyond - 1L);
      Context _ = step(run, "segment", began, ended, which);
      began = ended;
    }
  }

  private Context step(Context parent, String name, long beganNanos, long endedNanos) {
    return step(parent, name, beganNanos, endedNanos, Attributes.empty());
  }

  private Context step(
      Context parent, String name, long beganNanos, long endedNanos, Attributes attributes) {
    Span step =
        tracer
            .spanBuilder(name)
            .setParent(parent)
            .setAllAttributes(attributes)
            .setStartTimestamp(epochOffsetNanos + beganNanos, TimeUnit.NANOSECONDS)
            .startSpan();
    step.end(epochOffsetNanos + endedNanos, TimeUnit.NANOSECONDS);
    return parent.with(step);
  }

  /**
   * The request ended without an answer. By OpenTelemetry's conventions a server's span is an error
   * where the server is to blame, and not its caller.
   */
  public void failed(Status status) {
    span.setAttribute("error.type", status.name());
    switch (status) {
      case INVALID_ARGUMENT,
          UNAUTHENTICATED,
          PERMISSION_DENIED,
          RATE_LIMITED,
          NOT_FOUND,
          TOO_LARGE,
          CANCELLED -> {}
      case UNAVAILABLE,
          INSUFFICIENT_MEMORY,
          DEADLINE_EXCEEDED,
          UNIMPLEMENTED,
          DEVICE_FAILURE,
          INTERNAL ->
          span.setStatus(StatusCode.ERROR);
    }
    span.end(epochOffsetNanos + System.nanoTime(), TimeUnit.NANOSECONDS);
  }

  /** Does something on this thread whose log records name the trace. */
  public <T> T around(Supplier<T> action) {
    try (Scope _ = span.makeCurrent()) {
      return action.get();
    }
  }
}
