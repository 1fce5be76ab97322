package io.pipelane.server.observability;

import io.opentelemetry.api.common.AttributeKey;
import io.opentelemetry.api.common.Attributes;
import io.opentelemetry.api.trace.Span;
import io.opentelemetry.api.trace.SpanKind;
import io.opentelemetry.api.trace.Tracer;
import io.opentelemetry.api.trace.propagation.W3CTraceContextPropagator;
import io.opentelemetry.context.Context;
import io.opentelemetry.context.propagation.TextMapGetter;
import io.opentelemetry.sdk.common.Clock;
import io.opentelemetry.sdk.resources.Resource;
import io.opentelemetry.sdk.trace.SdkTracerProvider;
import io.opentelemetry.sdk.trace.SpanProcessor;
import io.opentelemetry.sdk.trace.export.BatchSpanProcessor;
import io.opentelemetry.sdk.trace.samplers.Sampler;
import io.pipelane.config.value.Ratio;
import io.pipelane.modelstore.ModelVersion;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * The tracer of requests: makes spans of them and sends these off, on a thread of its own. Safe for
 * any thread.
 *
 * <p>A request is traced when {@link TraceSettings} says so of its model, and its caller's context;
 * where that says nothing, a share of the requests.
 */
public final class RequestTracing implements AutoCloseable {
  private static final AttributeKey<String> SERVICE = AttributeKey.stringKey("service.name");
  private static final long CLOSING_SECONDS = 2;

  /** Of a model's name that a client has made up, in characters. */
  private static final int LONGEST_NAME = 256;

  private final SdkTracerProvider provider;
  private final Tracer tracer;
  private final TraceSettings settings;

  RequestTracing(SpanProcessor processor, Ratio ratio, TraceSettings settings) {
    this.settings = settings;
    provider =
        SdkTracerProvider.builder()
            .setResource(Resource.create(Attributes.of(SERVICE, "pipelane")))
            .setSampler(Sampler.parentBased(Sampler.traceIdRatioBased(ratio.value())))
            .addSpanProcessor(processor)
            .build();
    tracer = provider.get("io.pipelane");
  }

  /**
   * Sends spans to a collector, in batches; what it does not take in time is lost.
   *
   * @param ratio share of the requests that are traced where the caller has not decided it
   * @throws io.pipelane.config.StatusException {@link io.pipelane.config.Status#INVALID_ARGUMENT}
   *     when a file that the collector needs cannot be used
   */
  public static RequestTracing to(SpanCollector collector, Ratio ratio, TraceSettings settings) {
    return new RequestTracing(
        BatchSpanProcessor.builder(collector.exporter()).build(), ratio, settings);
  }

  /**
   * Begins the trace of a request.
   *
   * @param headers gives what the request's header of a name says, or null
   * @return null when it is not traced
   */
  public @Nullable RequestTrace begin(
      ModelVersion version, Function<String, @Nullable String> headers) {
    return begin(
        Attributes.of(RequestTrace.MODEL, version.model(), RequestTrace.VERSION, version.version()),
        settings.sampling(version.model()),
        headers);
  }

  /** The same of a request for what may be no model at all. */
  public @Nullable RequestTrace begin(String model, Function<String, @Nullable String> headers) {
    String shown = model.substring(0, Math.min(model.length(), LONGEST_NAME));
    return begin(Attributes.of(RequestTrace.MODEL, shown), settings.sampling(model), headers);
  }

  private @Nullable RequestTrace begin(
      Attributes model, TraceSampling sampling, Function<String, @Nullable String> headers) {
    if (!sampling.isDue()) {
      return null;
    }
    Context parent =
        W3CTraceContextPropagator.getInstance().extract(Context.root(), headers, new Headers());
    long beganNanos = System.nanoTime();
    long epochOffsetNanos = Clock.getDefault().now() - beganNanos;
    Span span =
        tracer
            .spanBuilder("infer")
            .setSpanKind(SpanKind.SERVER)
            .setParent(parent)
            .setStartTimestamp(epochOffsetNanos + beganNanos, TimeUnit.NANOSECONDS)
            .setAllAttributes(model)
            .startSpan();
    return span.isRecording() && sampling.take()
        ? new RequestTrace(tracer, span, epochOffsetNanos)
        : null;
  }

  /** Sends what is left, for a short time. */
  @Override
  public void close() {
    provider.shutdown().join(CLOSING_SECONDS, TimeUnit.SECONDS);
  }

  private static final class Headers implements TextMapGetter<Function<String, @Nullable String>> {
    @Override
    public Iterable<String> keys(Function<String, @Nullable String> headers) {
      return List.of();
    }

    @Override
    public @Nullable String get(@Nullable Function<String, @Nullable String> headers, String name) {
      return headers == null ? null : headers.apply(name);
    }
  }
}
