package io.pipelane.loadgen.http;

import io.netty.bootstrap.Bootstrap;
import io.netty.buffer.ByteBuf;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.pipelane.loadgen.drive.Connection;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/** A persistent HTTP/1.1 connection to the server under test. On the event loop only. */
@SuppressWarnings("FutureReturnValueIgnored") // failures come through the pipeline as well
final class HttpConnection implements Connection {
  /*
   * `channel` is the one that counts; events of an earlier one are ignored, so giving one up is
   * forgetting and closing it. After every loss exactly one attempt to connect is under way or
   * scheduled.
   */
  private static final long RETRY_MILLIS = 100;

  private final Bootstrap bootstrap;
  private final EncodedRequests requests;
  private final boolean keepBodies;
  private final Listener listener;
  private @Nullable Channel channel;
  private boolean closed;

  /**
   * Creates a connection that is not yet open.
   *
   * @param bootstrap with event loop, address and options
   */
  HttpConnection(
      Bootstrap bootstrap, EncodedRequests requests, boolean keepBodies, Listener listener) {
    this.bootstrap = bootstrap;
    this.requests = requests;
    this.keepBodies = keepBodies;
    this.listener = listener;
  }

  @Override
  public void open() {
    if (!closed) {
      ChannelFuture connecting = bootstrap.clone().handler(new Receiver()).connect();
      connecting.addListener(_ -> connected(connecting));
    }
  }

  @Override
  public void send(int model, int variant) {
    Channel open = channel;
    if (open == null) {
      throw new IllegalStateException("the connection is not open");
    }
    open.writeAndFlush(requests.get(model, variant), open.voidPromise());
  }

  @Override
  public void abandon() {
    forget();
    open();
  }

  /** Closes the connection for good. */
  void close() {
    closed = true;
    forget();
  }

  private void connected(ChannelFuture connecting) {
    if (closed) {
      connecting.channel().close();
    } else if (connecting.isSuccess()) {
      channel = connecting.channel();
      listener.ready();
    } else {
      listener.refused(reason(connecting.cause()));
      connecting.channel().eventLoop().schedule(this::open, RETRY_MILLIS, TimeUnit.MILLISECONDS);
    }
  }

  private void forget() {
    Channel open = channel;
    channel = null;
    if (open != null) {
      open.close();
    }
  }

  private void lost(String reason) {
    forget();
    listener.lost(reason);
    open();
  }

  private static String reason(@Nullable Throwable cause) {
    if (cause == null) {
      return "cancelled";
    }
    return cause.getMessage() == null ? cause.toString() : cause.getMessage();
  }

  /** Decodes what one channel receives. */
  private final class Receiver extends ChannelInboundHandlerAdapter {
    private final ResponseDecoder decoder = new ResponseDecoder(keepBodies);

    @Override
    public void channelRead(ChannelHandlerContext context, Object message) {
      ByteBuf in = (ByteBuf) message;
      try {
        if (isCurrent(context) && decoder.decode(in)) {
          if (in.isReadable()) {
            lost("the server sent " + in.readableBytes() + " bytes nobody asked for");
          } else {
            answered(decoder.isClosing());
          }
        }
      } catch (MalformedResponseException e) {
        lost(reason(e));
      } finally {
        in.release();
      }
    }

    @Override
    public void channelInactive(ChannelHandlerContext context) {
      if (!isCurrent(context)) {
        return;
      }
      if (decoder.decodeEnd()) {
        answered(true);
      } else {
        lost("the server closed the connection");
      }
    }

    @Override
    public void exceptionCaught(ChannelHandlerContext context, Throwable cause) {
      if (isCurrent(context)) {
        lost(reason(cause));
      }
    }

    private void answered(boolean isLast) {
      if (isLast) {
        forget();
      }
      listener.answered(
          decoder.status(), decoder.jsonBytes(), decoder.warmth(), decoder.body(), !isLast);
      if (isLast) {
        open();
      }
    }

    private boolean isCurrent(ChannelHandlerContext context) {
      return context.channel().equals(channel);
    }
  }
}
