package io.pipelane.server.http;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufOutputStream;
import io.netty.handler.codec.http.HttpResponseStatus;
import io.pipelane.config.StatusException;
import io.pipelane.server.http.message.Response;
import io.pipelane.server.http.message.Response.Content;
import io.pipelane.server.metrics.Metrics;
import io.pipelane.server.net.ServerFault;
import java.io.IOException;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.util.List;
import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;
import java.util.function.Consumer;

/** An answer whose writing takes locks: written on a codec thread, sent on the event loop. */
final class GatheredAnswer {
  private GatheredAnswer() {}

  /**
   * Begins to answer a request; returns at once.
   *
   * @param writer appends the body
   * @throws StatusException when the codec threads have too much to do
   */
  static void start(Exchange exchange, Content content, Consumer<ByteBuf> writer, Executor codecs) {
    try {
      codecs.execute(() -> write(exchange, content, writer));
    } catch (RejectedExecutionException e) {
      throw StatusException.unavailable("the server is busy; ask again");
    }
  }

  private static void write(Exchange exchange, Content content, Consumer<ByteBuf> writer) {
    Response response;
    try {
      response =
          Response.of(HttpResponseStatus.OK, content, List.of(), exchange.allocator(), writer);
    } catch (RuntimeException | OutOfMemoryError e) {
      response = Response.error(ServerFault.unlessSaid(e), exchange.allocator());
    }
    Response written = response;
    try {
      exchange.loop().execute(() -> exchange.answer(written));
    } catch (RejectedExecutionException e) {
      written.release();
    }
  }

  /** Appends all metrics. */
  static void write(Metrics metrics, ByteBuf body) {
    try (OutputStream stream = new ByteBufOutputStream(body)) {
      metrics.write(stream);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
