package io.pipelane.server.http.message;

import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelHandlerContext;
import io.netty.handler.codec.MessageToMessageEncoder;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpResponseStatus;
import io.netty.handler.codec.http2.DefaultHttp2DataFrame;
import io.netty.handler.codec.http2.DefaultHttp2Headers;
import io.netty.handler.codec.http2.DefaultHttp2HeadersFrame;
import io.netty.handler.codec.http2.DefaultHttp2ResetFrame;
import io.netty.handler.codec.http2.Http2Error;
import io.netty.handler.codec.http2.Http2Headers;
import io.pipelane.server.http.message.Response.Content;
import io.pipelane.server.http.message.ResponseHead.Persistence;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/** Answers as frames of one HTTP/2 stream, which is a channel and ends with its only answer. */
@SuppressWarnings("FutureReturnValueIgnored") // a write or close that fails closes the channel
public final class Http2Framing implements Framing {
  private static final String JSON_LENGTH = "inference-header-content-length";
  private static final String STALL = "pipelane-stall-us";

  @Override
  public ChannelFuture write(
      ChannelHandlerContext context, Response response, boolean headOnly, Persistence persistence) {
    Http2Headers head = head(response);
    boolean isStream = response.content() == Content.EVENTS && !headOnly;
    List<ByteBuf> parts = headOnly ? List.of() : parts(response);
    if (headOnly || parts.isEmpty()) {
      response.release();
    }
    boolean isWhole = parts.isEmpty() && !isStream;
    ChannelFuture written = context.write(new DefaultHttp2HeadersFrame(head, isWhole));
    for (int i = 0; i < parts.size(); i++) {
      boolean last = i == parts.size() - 1;
      written = context.write(new DefaultHttp2DataFrame(parts.get(i), last));
    }
    if (isStream) {
      context.pipeline().addFirst(new StreamedBytes());
    }
    return written;
  }

  /** The parts that hold something; the others are released where there is one that does. */
  private static List<ByteBuf> parts(Response response) {
    if (response.contentLength() == 0) {
      return List.of();
    }
    List<ByteBuf> parts = new ArrayList<>(1 + response.tail().size());
    add(parts, response.body());
    response.tail().forEach(part -> add(parts, part));
    return parts;
  }

  private static void add(List<ByteBuf> parts, ByteBuf part) {
    if (part.isReadable()) {
      parts.add(part);
    } else {
      part.release();
    }
  }

  private static Http2Headers head(Response response) {
    Http2Headers head = new DefaultHttp2Headers(false).status(response.status().codeAsText());
    long length = response.contentLength();
    boolean isStream = response.content() == Content.EVENTS;
    if (length > 0 || isStream) {
      head.set(HttpHeaderNames.CONTENT_TYPE, response.content().mediaType());
    }
    if (response.jsonLength() >= 0) {
      head.setInt(JSON_LENGTH, response.jsonLength());
    }
    if (!isStream) {
      head.setLong(HttpHeaderNames.CONTENT_LENGTH, length);
    }
    if (response.stallNanos() >= 0) {
      head.setLong(STALL, (response.stallNanos() + 999) / 1000);
    }
    for (String field : response.fields()) {
      int colon = field.indexOf(':');
      head.add(
          field.substring(0, colon).toLowerCase(Locale.ROOT), field.substring(colon + 1).strip());
    }
    return head;
  }

  @Override
  public void offerContinue(ChannelHandlerContext context) {
    context.writeAndFlush(
        new DefaultHttp2HeadersFrame(
            new DefaultHttp2Headers(false).status(HttpResponseStatus.CONTINUE.codeAsText())));
  }

  /** An answered stream ends with its request; one whose request goes on is asked to stop. */
  @Override
  public void close(ChannelHandlerContext context, boolean clientMaySend) {
    if (clientMaySend) {
      context
          .writeAndFlush(new DefaultHttp2ResetFrame(Http2Error.NO_ERROR))
          .addListener(_ -> context.close());
    }
  }

  /** Bytes written to a stream that does not end. */
  private static final class StreamedBytes extends MessageToMessageEncoder<ByteBuf> {
    StreamedBytes() {
      super(ByteBuf.class);
    }

    @Override
    protected void encode(ChannelHandlerContext context, ByteBuf bytes, List<Object> frames) {
      frames.add(new DefaultHttp2DataFrame(bytes.retain()));
    }
  }
}
