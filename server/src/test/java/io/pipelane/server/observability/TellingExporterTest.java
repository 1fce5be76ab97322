package io.pipelane.server.observability;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.opentelemetry.sdk.common.CompletableResultCode;
import io.opentelemetry.sdk.trace.data.SpanData;
import io.opentelemetry.sdk.trace.export.SpanExporter;
import java.net.ConnectException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.URI;
import java.util.Collection;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.logging.Handler;
import java.util.logging.LogRecord;
import java.util.logging.Logger;
import java.util.logging.SimpleFormatter;
import org.junit.jupiter.api.Test;

class TellingExporterTest {
  private static final Logger LOG = Logger.getLogger(TellingExporter.class.getName());

  private final List<String> lines = new CopyOnWriteArrayList<>();

  /** Writes down what is logged. */
  private final class Lines extends Handler {
    @Override
    public void publish(LogRecord record) {
      lines.add(new SimpleFormatter().formatMessage(record));
    }

    @Override
    public void flush() {}

    @Override
    public void close() {}
  }

  /** Reaches its collector when it is told so. */
  private static final class Reaching implements SpanExporter {
    private boolean reaches;

    @Override
    public CompletableResultCode export(Collection<SpanData> spans) {
      return reaches
          ? CompletableResultCode.ofSuccess()
          : CompletableResultCode.ofExceptionalFailure(
              new IllegalStateException(new ConnectException("Connection refused")));
    }

    @Override
    public CompletableResultCode flush() {
      return CompletableResultCode.ofSuccess();
    }

    @Override
    public CompletableResultCode shutdown() {
      return CompletableResultCode.ofSuccess();
    }
  }

  @Test
  void collectorThatNobodyListensFor_isSaidToBeThat() throws Exception {
    URI nobody;
    try (ServerSocket closed = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      nobody = URI.create("http://127.0.0.1:" + closed.getLocalPort() + "/v1/traces");
    }
    Handler handler = new Lines();
    LOG.addHandler(handler);
    SpanCollector collector = new SpanCollector(nobody, Optional.empty(), Optional.empty());
    try (SpanExporter exporter = collector.exporter()) {
      exporter.export(List.of()).join(10, TimeUnit.SECONDS);
      assertTrue(lines.getFirst().contains("the connection was refused"), lines::toString);
    } finally {
      LOG.removeHandler(handler);
    }
  }

  @Test
  void collectorThatCannotBeReached_isNamedOnceWithTheReason() {
    Handler handler = new Lines();
    LOG.addHandler(handler);
    Reaching collector = new Reaching();
    try (TellingExporter exporter =
        new TellingExporter(collector, URI.create("http://localhost:4318/v1/traces"))) {
      for (int i = 0; i < 3; i++) {
        CompletableResultCode _ = exporter.export(List.of());
      }
      assertEquals(1, lines.size(), lines::toString);
      String line = lines.getFirst();
      assertTrue(line.contains("tracing.endpoint http://localhost:4318/v1/traces cannot"), line);
      assertTrue(line.contains("java.net.ConnectException: Connection refused"), line);
      collector.reaches = true;
      CompletableResultCode _ = exporter.export(List.of());
      assertTrue(lines.getLast().endsWith("can be reached again"), lines.toString());
    } finally {
      LOG.removeHandler(handler);
    }
  }
}
