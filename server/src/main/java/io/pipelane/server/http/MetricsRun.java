package io.pipelane.server.http;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufOutputStream;
import io.netty.handler.codec.http.HttpResponseStatus;
import io.pipelane.config.StatusException;
import io.pipelane.server.http.Response.Content;
import io.pipelane.server.metrics.Metrics;
import java.io.IOException;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;

/** One scrape: written on a codec thread, answered on the event loop. */
final class MetricsRun {
  private static final Duration RETRY_AFTER = Duration.ofSeconds(1);

  private MetricsRun() {}

  static void start(Exchange exchange, Metrics metrics, Executor codecs) {
    try {
      codecs.execute(() -> write(exchange, metrics));
    } catch (RejectedExecutionException e) {
      throw StatusException.unavailable("the server is busy; scrape it again", RETRY_AFTER);
    }
  }

  private static void write(Exchange exchange, Metrics metrics) {
    Response response;
    try {
      response =
          Response.of(
              HttpResponseStatus.OK,
              Content.METRICS,
              List.of(),
              exchange.allocator(),
              body -> write(metrics, body));
    } catch (RuntimeException | OutOfMemoryError e) {
      response = Response.error(Api.internal(e), exchange.allocator());
    }
    Response written = response;
    try {
      exchange.loop().execute(() -> exchange.answer(written));
    } catch (RejectedExecutionException e) {
      written.release();
    }
  }

  private static void write(Metrics metrics, ByteBuf body) {
    try (OutputStream stream = new ByteBufOutputStream(body)) {
      metrics.write(stream);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
