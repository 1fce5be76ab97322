package io.pipelane.server.observability;

import io.opentelemetry.sdk.common.CompletableResultCode;
import io.opentelemetry.sdk.trace.data.SpanData;
import io.opentelemetry.sdk.trace.export.SpanExporter;
import java.lang.System.Logger.Level;
import java.net.URI;
import java.util.Collection;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.logging.Logger;
import org.jspecify.annotations.Nullable;

/**
 * An exporter that says in a line when its collector takes no spans, and when it does again. Safe
 * for any thread.
 */
final class TellingExporter implements SpanExporter {
  private static final System.Logger LOG = System.getLogger(TellingExporter.class.getName());

  /** What the library would say of each attempt is said here, once. */
  private static final Logger LIBRARY = Logger.getLogger("io.opentelemetry.exporter");

  static {
    LIBRARY.setLevel(java.util.logging.Level.OFF);
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
    boolean fails = !result.isSuccess();
    if (failing.getAndSet(fails) == fails) {
      return;
    }
    if (fails) {
      LOG.log(
          Level.WARNING,
          "tracing.endpoint {0} takes no spans: {1}; what is traced is lost until it does",
          endpoint,
          reason(result.getFailureThrowable()));
    } else {
      LOG.log(Level.INFO, "tracing.endpoint {0} takes spans again", endpoint);
    }
  }

  private static String reason(@Nullable Throwable failure) {
    if (failure == null) {
      return "it has answered with an error";
    }
    Throwable first = failure;
    for (Throwable cause = failure.getCause(); cause != null; cause = cause.getCause()) {
      first = cause;
    }
    return first.toString();
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
