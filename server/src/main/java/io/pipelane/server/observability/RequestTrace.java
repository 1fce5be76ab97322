package io.pipelane.server.observability;

import io.opentelemetry.api.trace.Span;
import io.opentelemetry.api.trace.SpanContext;
import io.opentelemetry.api.trace.StatusCode;
import io.opentelemetry.api.trace.Tracer;
import io.opentelemetry.context.Context;
import io.opentelemetry.context.Scope;
import io.pipelane.config.Status;
import io.pipelane.switcher.InferenceTimings;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;

/**
 * The spans of one request that is traced: the request, and in it decoding, queue, run with its
 * stall, and encoding. Used by one thread after another.
 */
public final class RequestTrace {
  /*
   * The request's span begins with the request, because its identity goes into the answer. Those
   * inside are made when it ends, of the times that the account has; so there is nothing to do, and
   * nothing to keep, meanwhile.
   */
  private final Tracer tracer;
  private final Span span;
  private final long epochOffsetNanos;

  RequestTrace(Tracer tracer, Span span) {
    this.tracer = tracer;
    this.span = span;
    this.epochOffsetNanos =
        TimeUnit.MILLISECONDS.toNanos(System.currentTimeMillis()) - System.nanoTime();
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
   */
  public void answered(
      long beganNanos, long decodedNanos, InferenceTimings timings, long endedNanos) {
    span.setAttribute("pipelane.batch", timings.batch());
    Context request = Context.root().with(span);
    long runBegan = decodedNanos + timings.queueNanos();
    long runEnded = runBegan + timings.executeNanos();
    step(request, "decode", beganNanos, decodedNanos);
    step(request, "queue", decodedNanos, runBegan);
    Context run = step(request, "execute", runBegan, runEnded);
    if (timings.stallNanos() > 0) {
      // A run may stall several times; this is all of them together.
      step(run, "stall", runBegan, runBegan + timings.stallNanos());
    }
    step(request, "encode", Math.min(runEnded, endedNanos), endedNanos);
    span.end(epochOffsetNanos + endedNanos, TimeUnit.NANOSECONDS);
  }

  private Context step(Context parent, String name, long beganNanos, long endedNanos) {
    Span step =
        tracer
            .spanBuilder(name)
            .setParent(parent)
            .setStartTimestamp(epochOffsetNanos + beganNanos, TimeUnit.NANOSECONDS)
            .startSpan();
    step.end(epochOffsetNanos + endedNanos, TimeUnit.NANOSECONDS);
    return parent.with(step);
  }

  /** The request ended without an answer. */
  public void failed(Status status) {
    span.setAttribute("error.type", status.name());
    span.setStatus(StatusCode.ERROR);
    span.end();
  }

  /** Does something on this thread whose log records name the trace. */
  public <T> T around(Supplier<T> action) {
    try (Scope _ = span.makeCurrent()) {
      return action.get();
    }
  }
}
