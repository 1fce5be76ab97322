package io.pipelane.server.observability;

import io.opentelemetry.sdk.testing.exporter.InMemorySpanExporter;
import io.opentelemetry.sdk.trace.data.SpanData;
import io.opentelemetry.sdk.trace.export.SimpleSpanProcessor;
import io.pipelane.config.value.Ratio;
import io.pipelane.server.observability.TraceSetting.Level;
import java.util.Comparator;
import java.util.List;

/** Tracing whose spans stay in memory. */
public final class Tracings implements AutoCloseable {
  private final InMemorySpanExporter exporter = InMemorySpanExporter.create();
  public final TraceSettings settings =
      new TraceSettings(new TraceSetting(Level.TIMESTAMPS, 1, TraceSetting.UNLIMITED));
  public final RequestTracing tracing;

  public Tracings(double ratio) {
    tracing = new RequestTracing(SimpleSpanProcessor.create(exporter), new Ratio(ratio), settings);
  }

  /** The only span of a name. */
  public SpanData span(String name) {
    return exporter.getFinishedSpanItems().stream()
        .filter(span -> span.getName().equals(name))
        .reduce(
            (_, _) -> {
              throw new AssertionError("there are several spans " + name);
            })
        .orElseThrow(() -> new AssertionError("there is no span " + name));
  }

  /** All spans of a name, in the order of their beginnings. */
  public List<SpanData> all(String name) {
    return exporter.getFinishedSpanItems().stream()
        .filter(span -> span.getName().equals(name))
        .sorted(Comparator.comparingLong(SpanData::getStartEpochNanos))
        .toList();
  }

  public int spans() {
    return exporter.getFinishedSpanItems().size();
  }

  @Override
  public void close() {
    tracing.close();
  }
}
