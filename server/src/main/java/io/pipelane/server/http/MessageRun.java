package io.pipelane.server.http;

import io.netty.buffer.ByteBuf;
import io.netty.channel.EventLoop;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpHeaders;
import io.netty.handler.codec.http.HttpResponseStatus;
import io.pipelane.config.StatusException;
import io.pipelane.server.grpc.AddressedMessage;
import io.pipelane.server.grpc.MessageInferences;
import io.pipelane.server.hosts.ForwardedHeaders;
import io.pipelane.server.http.message.Response;
import io.pipelane.server.http.message.Response.Content;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * An inference that another host was asked for over gRPC: its body is the message, and so is that
 * of its answer. On its exchange's event loop.
 */
final class MessageRun implements MessageInferences.End {
  private final Exchange exchange;

  private MessageRun(Exchange exchange) {
    this.exchange = exchange;
  }

  /** Whether an inference is one: clients have gRPC for that, so other hosts alone send them. */
  static boolean isOf(Exchange exchange) {
    return looksLikeOne(exchange.headers()) && exchange.headers().contains(ForwardedHeaders.MARK);
  }

  /** Whether a request would be taken for one, did it come from another host. */
  static boolean looksLikeOne(HttpHeaders headers) {
    return MessageInferences.MEDIA_TYPE.equals(headers.get(HttpHeaderNames.CONTENT_TYPE));
  }

  /** Begins. */
  static void start(Exchange exchange, MessageInferences inferences, AddressedMessage message) {
    MessageInferences.Origin origin =
        new MessageInferences.Origin(
            (EventLoop) exchange.loop(),
            exchange.transfers(),
            exchange.allocator(),
            exchange.caller(),
            exchange.waitedNanos(),
            exchange.headers()::get);
    Runnable cancel = inferences.start(message, origin, new MessageRun(exchange));
    if (!exchange.isAnswered()) {
      exchange.whenAbandoned(cancel);
    }
  }

  @Override
  public void taken() {
    exchange.setTaken();
  }

  @Override
  public void answered(ByteBuf message, long stallMicros, @Nullable String traceparent) {
    Response response =
        new Response(
            HttpResponseStatus.OK,
            Response.newBody(exchange.allocator()),
            List.of(message),
            Content.MESSAGE,
            -1,
            stallMicros * 1000,
            traceparent == null ? List.of() : List.of("traceparent: " + traceparent),
            false);
    InferRun.hop(exchange, () -> exchange.answer(response), response::release);
  }

  @Override
  public void failed(StatusException error) {
    InferRun.hop(exchange, () -> exchange.answer(error), () -> {});
  }
}
