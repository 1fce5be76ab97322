package io.pipelane.server.observability;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonGenerator;
import io.opentelemetry.api.trace.Span;
import io.opentelemetry.api.trace.SpanContext;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.io.UncheckedIOException;
import java.util.logging.Formatter;
import java.util.logging.Handler;
import java.util.logging.Level;
import java.util.logging.LogRecord;
import java.util.logging.Logger;

/**
 * A formatter of log records as JSON objects, one on a line. An object has time, level, logger,
 * message, the error with its stack trace where there is one, and the trace of the request that it
 * is about, where that is traced.
 */
public final class JsonLogFormatter extends Formatter {
  private static final JsonFactory JSON = new JsonFactory();

  /** Has everything that is logged from now on written so. */
  public static void install() {
    for (Handler handler : Logger.getLogger("").getHandlers()) {
      handler.setFormatter(new JsonLogFormatter());
    }
  }

  @Override
  public String format(LogRecord record) {
    StringWriter line = new StringWriter();
    try (JsonGenerator json = JSON.createGenerator(line)) {
      json.writeStartObject();
      json.writeStringField("time", record.getInstant().toString());
      json.writeStringField("level", level(record.getLevel()));
      json.writeStringField("logger", String.valueOf(record.getLoggerName()));
      json.writeStringField("message", formatMessage(record));
      Throwable error = record.getThrown();
      if (error != null) {
        StringWriter trace = new StringWriter();
        error.printStackTrace(new PrintWriter(trace, true));
        json.writeStringField("error", trace.toString());
      }
      SpanContext span = Span.current().getSpanContext();
      if (span.isValid()) {
        json.writeStringField("trace_id", span.getTraceId());
        json.writeStringField("span_id", span.getSpanId());
      }
      json.writeEndObject();
    } catch (IOException e) {
      throw new UncheckedIOException("a string cannot be written to", e);
    }
    return line.append('\n').toString();
  }

  /** As {@link System.Logger} names it. */
  private static String level(Level level) {
    int value = level.intValue();
    if (value >= Level.SEVERE.intValue()) {
      return "ERROR";
    }
    if (value >= Level.WARNING.intValue()) {
      return "WARNING";
    }
    return value >= Level.INFO.intValue() ? "INFO" : "DEBUG";
  }
}
