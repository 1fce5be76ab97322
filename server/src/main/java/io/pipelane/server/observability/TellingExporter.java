package io.pipelane.server.observability;

import io.opentelemetry.sdk.common.CompletableResultCode;
import io.opentelemetry.sdk.trace.data.SpanData;
import io.opentelemetry.sdk.trace.export.SpanExporter;
import java.lang.System.Logger.Level;
import java.net.URI;
import java.nio.channels.ClosedChannelException;
import java.util.Collection;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.logging.Logger;
import org.jspecify.annotations.Nullable;

/**
 * An exporter that says in a line when its collector cannot be reached, and when it can again. That
 * it answers with an error, the library says itself in a line. Safe for any thread.
 */
final class TellingExporter implements SpanExporter {
  private static final System.Logger LOG = System.getLogger(TellingExporter.class.getName());

  /** It would say what is said here with a trace, and not which setting is meant. */
  private static final Logger LIBRARY =
      Logger.getLogger("io.opentelemetry.exporter.otlp.internal.HttpExporter");

  static {
    LIBRARY.setFilter(record -> record.getThrown() == null);
  }

  private final SpanExporter exporter;
  private final URI endpoint;
  private final AtomicBoolean failing = new AtomicBoolean();

  /**
   * Tells of another one.
   *
   * @param endpoint where that sends spans
   */
  TellingExporter(SpanExporter exporter, URI endpoint) {
    this.exporter = exporter;
    this.endpoint = endpoint;
  }

  @Override
  public CompletableResultCode export(Collection<SpanData> spans) {
    CompletableResultCode result = exporter.export(spans);
    return result.whenComplete(() -> told(result));
  }

  private void told(CompletableResultCode result) {
    @Nullable String reason = reason(result);
    boolean fails = reason != null;
    if (failing.getAndSet(fails) == fails) {
      return;
    }
    if (fails) {
      LOG.log(
          Level.WARNING,
          "tracing.endpoint {0} cannot be reached: {1}; what is traced is lost until it can",
          endpoint,
          reason);
    } else {
      LOG.log(Level.INFO, "tracing.endpoint {0} can be reached again", endpoint);
    }
  }

  /**
   * What has kept the spans from arriving; null where they have, or were answered with an error.
   */
  private static @Nullable String reason(CompletableResultCode result) {
    Throwable failure = result.getFailureThrowable();
    Throwable reason = failure == null ? null : failure.getCause();
    while (reason != null && reason.getCause() != null) {
      reason = reason.getCause();
    }
    if (reason instanceof ClosedChannelException) { // Java's client tries again on what it closed.
      return "the connection was refused, or could not be made";
    }
    return reason == null ? null : reason.toString();
  }

  @Override
  public CompletableResultCode flush() {
    return exporter.flush();
  }

  @Override
  public CompletableResultCode shutdown() {
    return exporter.shutdown();
  }
}
