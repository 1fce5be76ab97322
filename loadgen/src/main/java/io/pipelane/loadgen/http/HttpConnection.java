package io.pipelane.loadgen.http;

import io.netty.bootstrap.Bootstrap;
import io.netty.buffer.ByteBuf;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelInitializer;
import io.netty.handler.ssl.SslContext;
import io.netty.handler.ssl.SslHandler;
import io.pipelane.loadgen.drive.Connection;
import io.pipelane.loadgen.settings.Endpoint;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/** A persistent HTTP/1.1 connection to the server under test. On the event loop only. */
@SuppressWarnings("FutureReturnValueIgnored") // failures come through the pipeline as well
final class HttpConnection implements Connection {
  /*
   * `channel` is the one that counts; events of an earlier one are ignored, so giving one up is
   * forgetting and closing it. After every loss exactly one attempt to connect is under way or
   * scheduled; one that carried no request is replaced after a while only, lest a server that closes
   * what it has accepted keeps both busy with nothing else.
   */
  private static final long RETRY_MILLIS = 100;

  private final Bootstrap bootstrap;
  private final Endpoint endpoint;
  private final @Nullable SslContext security;
  private final EncodedRequests requests;
  private final boolean keepBodies;
  private final Listener listener;
  private @Nullable Channel channel;
  private boolean used;
  private boolean awaiting; // an answer
  private boolean closed;

  /**
   * Creates a connection that is not yet open.
   *
   * @param bootstrap with event loop, address and options
   * @param security of TLS; null without
   */
  HttpConnection(
      Bootstrap bootstrap,
      Endpoint endpoint,
      @Nullable SslContext security,
      EncodedRequests requests,
      boolean keepBodies,
      Listener listener) {
    this.bootstrap = bootstrap;
    this.endpoint = endpoint;
    this.security = security;
    this.requests = requests;
    this.keepBodies = keepBodies;
    this.listener = listener;
  }

  @Override
  public void open() {
    if (!closed) {
      ChannelFuture connecting = bootstrap.clone().handler(new Opening()).connect();
      connecting.addListener(_ -> connected(connecting));
    }
  }

  @Override
  public void send(int model, int variant) {
    Channel open = channel;
    if (open == null) {
      throw new IllegalStateException("the connection is not open");
    }
    used = true;
    awaiting = true;
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
    SslHandler securing = connecting.channel().pipeline().get(SslHandler.class);
    if (connecting.isSuccess() && securing != null) {
      securing
          .handshakeFuture()
          .addListener(secured -> opened(connecting.channel(), secured.cause()));
    } else {
      opened(connecting.channel(), connecting.cause());
    }
  }

  /**
   * An attempt has ended.
   *
   * @param failure why it failed; null when it did not
   */
  private void opened(Channel attempt, @Nullable Throwable failure) {
    if (closed) {
      attempt.close();
    } else if (failure == null) {
      channel = attempt;
      used = false;
      awaiting = false;
      listener.ready();
    } else {
      attempt.close();
      listener.refused(reason(failure));
      openLater();
    }
  }

  private void openLater() {
    bootstrap.config().group().schedule(this::open, RETRY_MILLIS, TimeUnit.MILLISECONDS);
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
    if (used) {
      open();
    } else {
      openLater();
    }
  }

  private static String reason(Throwable cause) {
    return cause.getMessage() == null ? cause.toString() : cause.getMessage();
  }

  /** An initializer that fills the pipeline of a channel that is being opened. */
  private final class Opening extends ChannelInitializer<Channel> {
    @Override
    protected void initChannel(Channel opened) {
      if (security != null) {
        SslHandler securing = security.newHandler(opened.alloc(), endpoint.host(), endpoint.port());
        opened.pipeline().addLast(securing);
      }
      opened.pipeline().addLast(new Receiver());
    }
  }

  /** A handler that decodes what one channel receives. */
  private final class Receiver extends ChannelInboundHandlerAdapter {
    private final ResponseDecoder decoder = new ResponseDecoder(keepBodies);

    @Override
    public void channelRead(ChannelHandlerContext context, Object message) {
      ByteBuf in = (ByteBuf) message;
      try {
        if (!isCurrent(context)) {
          return;
        }
        if (!awaiting) {
          lostToBytes(in);
        } else if (decoder.decode(in)) {
          if (in.isReadable()) {
            lostToBytes(in);
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
      if (awaiting && decoder.decodeEnd()) {
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

    private void lostToBytes(ByteBuf in) {
      lost("the server sent " + in.readableBytes() + " bytes nobody asked for");
    }

    private void answered(boolean isLast) {
      awaiting = false;
      if (isLast) {
        forget();
      }
      listener.answered(
          decoder.status(),
          error(),
          decoder.jsonBytes(),
          decoder.warmth(),
          decoder.body(),
          !isLast);
      if (isLast) {
        open();
      }
    }

    /** A proxy before the server may put a page in the answer's place. */
    private @Nullable String error() {
      String status = "HTTP " + decoder.status();
      if (decoder.isPage()) {
        return status + " with an HTML page";
      }
      return decoder.status() >= 200 && decoder.status() <= 299 ? null : status;
    }

    private boolean isCurrent(ChannelHandlerContext context) {
      return context.channel().equals(channel);
    }
  }
}
