package io.pipelane.server.http;

import io.netty.bootstrap.Bootstrap;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.nio.NioIoHandler;
import io.netty.channel.socket.nio.NioSocketChannel;
import io.netty.handler.codec.http2.DefaultHttp2DataFrame;
import io.netty.handler.codec.http2.DefaultHttp2Headers;
import io.netty.handler.codec.http2.DefaultHttp2HeadersFrame;
import io.netty.handler.codec.http2.Http2DataFrame;
import io.netty.handler.codec.http2.Http2FrameCodecBuilder;
import io.netty.handler.codec.http2.Http2GoAwayFrame;
import io.netty.handler.codec.http2.Http2Headers;
import io.netty.handler.codec.http2.Http2HeadersFrame;
import io.netty.handler.codec.http2.Http2MultiplexHandler;
import io.netty.handler.codec.http2.Http2ResetFrame;
import io.netty.handler.codec.http2.Http2Settings;
import io.netty.handler.codec.http2.Http2SettingsFrame;
import io.netty.handler.codec.http2.Http2StreamChannel;
import io.netty.handler.codec.http2.Http2StreamChannelBootstrap;
import io.netty.util.ReferenceCountUtil;
import java.io.ByteArrayOutputStream;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.Objects;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/** A client that speaks HTTP/2 from its first byte on, and can do what well-behaved ones do not. */
@SuppressWarnings("FutureReturnValueIgnored") // tests look at what comes back
final class Http2Client implements AutoCloseable {
  private final EventLoopGroup loops =
      new MultiThreadIoEventLoopGroup(1, NioIoHandler.newFactory());
  private final CompletableFuture<Http2Settings> settings = new CompletableFuture<>();
  private final CompletableFuture<Long> goAway = new CompletableFuture<>();
  final Channel channel;

  Http2Client(InetSocketAddress address) {
    channel =
        new Bootstrap()
            .group(loops)
            .channel(NioSocketChannel.class)
            .handler(
                new ChannelInitializer<Channel>() {
                  @Override
                  protected void initChannel(Channel connection) {
                    connection
                        .pipeline()
                        .addLast(
                            Http2FrameCodecBuilder.forClient()
                                .initialSettings(Http2Settings.defaultSettings().pushEnabled(false))
                                .encoderIgnoreMaxHeaderListSize(true)
                                .build())
                        .addLast(new Http2MultiplexHandler(new ChannelInboundHandlerAdapter()))
                        .addLast(new Control());
                  }
                })
            .connect(address)
            .syncUninterruptibly()
            .channel();
  }

  /** What the server says of the whole connection. */
  private final class Control extends ChannelInboundHandlerAdapter {
    @Override
    public void channelRead(ChannelHandlerContext context, Object frame) {
      if (frame instanceof Http2SettingsFrame received) {
        settings.complete(received.settings());
      } else if (frame instanceof Http2GoAwayFrame received) {
        goAway.complete(received.errorCode());
      }
      ReferenceCountUtil.release(frame);
    }
  }

  Http2Settings settings() throws Exception {
    return settings.get(10, TimeUnit.SECONDS);
  }

  /** The error that the server ends the connection with. */
  long goAway() throws Exception {
    return goAway.get(10, TimeUnit.SECONDS);
  }

  /** One request and what comes back. */
  static final class Stream extends ChannelInboundHandlerAdapter {
    private final ByteArrayOutputStream body = new ByteArrayOutputStream();
    private final CompletableFuture<Http2Headers> head = new CompletableFuture<>();
    private final CompletableFuture<byte[]> whole = new CompletableFuture<>();
    private final CompletableFuture<Long> reset = new CompletableFuture<>();
    final CompletableFuture<Void> mayContinue = new CompletableFuture<>();
    final BlockingQueue<String> pieces = new LinkedBlockingQueue<>();
    private @Nullable Channel opened;

    private Channel channel() {
      return Objects.requireNonNull(opened);
    }

    @Override
    public void handlerAdded(ChannelHandlerContext context) {
      opened = context.channel();
    }

    @Override
    public void channelRead(ChannelHandlerContext context, Object frame) {
      boolean last = false;
      if (frame instanceof Http2HeadersFrame headers) {
        if ("100".contentEquals(headers.headers().status())) {
          mayContinue.complete(null);
        } else {
          head.complete(headers.headers());
          last = headers.isEndStream();
        }
      } else if (frame instanceof Http2DataFrame data) {
        byte[] bytes = ByteBufUtil.getBytes(data.content());
        body.writeBytes(bytes);
        pieces.add(new String(bytes, StandardCharsets.UTF_8));
        last = data.isEndStream();
      }
      ReferenceCountUtil.release(frame);
      if (last) {
        whole.complete(body.toByteArray());
      }
    }

    @Override
    public void userEventTriggered(ChannelHandlerContext context, Object event) {
      if (event instanceof Http2ResetFrame frame) {
        reset.complete(frame.errorCode());
      }
    }

    /** Withdraws the request. */
    void cancel() {
      channel().close().syncUninterruptibly();
    }

    Http2Headers head() throws Exception {
      return head.get(10, TimeUnit.SECONDS);
    }

    int status() throws Exception {
      return Integer.parseInt(head().status().toString());
    }

    byte[] bytes() throws Exception {
      return whole.get(10, TimeUnit.SECONDS);
    }

    String text() throws Exception {
      return new String(bytes(), StandardCharsets.UTF_8);
    }

    long reset() throws Exception {
      return reset.get(10, TimeUnit.SECONDS);
    }

    void send(byte[] piece, boolean last) {
      ByteBuf bytes = Unpooled.wrappedBuffer(piece);
      channel().writeAndFlush(new DefaultHttp2DataFrame(bytes, last));
    }
  }

  static Http2Headers request(String method, String path) {
    return new DefaultHttp2Headers()
        .method(method)
        .path(path)
        .scheme("http")
        .authority("localhost");
  }

  /** Begins a request. */
  Stream open(Http2Headers head, boolean last) {
    Stream stream = new Stream();
    Http2StreamChannel opened =
        new Http2StreamChannelBootstrap(channel)
            .handler(stream)
            .open()
            .syncUninterruptibly()
            .getNow();
    opened.writeAndFlush(new DefaultHttp2HeadersFrame(head, last));
    return stream;
  }

  Stream get(String path) {
    return open(request("GET", path), true);
  }

  Stream post(String path, byte[] body) {
    Stream stream = open(request("POST", path).setLong("content-length", body.length), false);
    stream.send(body, true);
    return stream;
  }

  @Override
  public void close() {
    channel.close().syncUninterruptibly();
    loops.shutdownGracefully(0, 1, TimeUnit.SECONDS).syncUninterruptibly();
  }
}
