package io.pipelane.server.observability;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.opentelemetry.sdk.common.CompletableResultCode;
import io.opentelemetry.sdk.trace.data.SpanData;
import io.opentelemetry.sdk.trace.export.SpanExporter;
import java.io.IOException;
import java.net.ConnectException;
import java.net.URI;
import java.nio.channels.ClosedChannelException;
import java.util.Collection;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
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
    private final IOException failure;
    private boolean reaches;

    Reaching(IOException failure) {
      this.failure = failure;
    }

    @Override
    public CompletableResultCode export(Collection<SpanData> spans) {
      return reaches
          ? CompletableResultCode.ofSuccess()
          : CompletableResultCode.ofExceptionalFailure(new IllegalStateException(failure));
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
  void collectorThatNobodyListensFor_isSaidToBeThat() {
    Handler handler = new Lines();
    LOG.addHandler(handler);
    try (TellingExporter exporter =
        new TellingExporter(
            new Reaching(new ClosedChannelException()), URI.create("http://localhost:4318"))) {
      CompletableResultCode _ = exporter.export(List.of());
      assertTrue(lines.getFirst().contains("the connection was refused"), lines::toString);
    } finally {
      LOG.removeHandler(handler);
    }
  }

  @Test
  void collectorThatCannotBeReached_isNamedOnceWithTheReason() {
    Handler handler = new Lines();
    LOG.addHandler(handler);
    Reaching collector = new Reaching(new ConnectException("Connection refused"));
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
