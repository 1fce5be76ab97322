package io.pipelane.server.net;

import io.netty.channel.ChannelHandlerContext;
import io.netty.handler.codec.http2.Http2Connection;
import io.netty.handler.codec.http2.Http2ConnectionDecoder;
import io.netty.handler.codec.http2.Http2ConnectionHandler;
import io.netty.handler.codec.http2.Http2Error;
import io.netty.handler.codec.http2.Http2Exception;
import io.netty.handler.codec.http2.Http2FrameListenerDecorator;
import io.netty.handler.codec.http2.Http2RemoteFlowController;
import io.netty.handler.codec.http2.Http2Stream;
import java.util.ArrayList;
import java.util.List;

/**
 * Ends an HTTP/2 connection's streams whose clients hardly allow anything to be sent on them.
 * Belongs to the connection's event loop.
 */
@SuppressWarnings("FutureReturnValueIgnored") // a write or close that fails closes the channel
final class StreamPace {
  /*
   * A stream is stuck when something is queued for it and its window is used up. One that is stuck
   * at two looks has sent in between what the client has allowed in between, which must be the least.
   * The same goes for the window of the whole connection while any stream has something queued.
   */

  private final Http2ConnectionHandler handler;
  private final Http2Connection connection;
  private final Http2Connection.PropertyKey key;
  private final long leastBytes;

  StreamPace(Http2ConnectionHandler handler, long leastBytes) {
    this.handler = handler;
    this.connection = handler.connection();
    this.key = connection.newKey();
    this.leastBytes = leastBytes;
    Http2ConnectionDecoder decoder = handler.decoder();
    decoder.frameListener(
        new Http2FrameListenerDecorator(decoder.frameListener()) {
          @Override
          public void onWindowUpdateRead(ChannelHandlerContext context, int id, int increment)
              throws Http2Exception {
            Http2Stream stream = connection.stream(id);
            if (stream != null) {
              allowance(stream).bytes += increment;
            }
            super.onWindowUpdateRead(context, id, increment);
          }
        });
  }

  /**
   * The bytes that a client has allowed on a stream, stream 0 being the connection, since the last
   * look.
   */
  private static final class Allowance {
    private boolean wasStuck;
    private long bytes;

    boolean isTooLittle(boolean isStuck, long leastBytes) {
      boolean tooLittle = wasStuck && isStuck && bytes < leastBytes;
      wasStuck = isStuck;
      bytes = 0;
      return tooLittle;
    }
  }

  private Allowance allowance(Http2Stream stream) {
    Allowance allowance = stream.getProperty(key);
    if (allowance == null) {
      allowance = new Allowance();
      stream.setProperty(key, allowance);
    }
    return allowance;
  }

  /**
   * Ends the streams that are too slow.
   *
   * @param context the handler's
   * @param littleIsOwed whether the client's machine has taken what was sent, but for less than a
   *     slow client takes: as long as it has not, that it takes it is what counts, as clients open
   *     windows in large steps
   * @return whether the whole connection is
   */
  boolean look(ChannelHandlerContext context, boolean littleIsOwed) {
    Http2RemoteFlowController flow = handler.encoder().flowController();
    List<Http2Stream> queued = new ArrayList<>();
    List<Http2Stream> tooSlow = new ArrayList<>();
    try {
      connection.forEachActiveStream(
          stream -> {
            boolean isQueued = flow.hasFlowControlled(stream);
            if (isQueued) {
              queued.add(stream);
            }
            boolean isStuck = littleIsOwed && isQueued && flow.windowSize(stream) <= 0;
            if (allowance(stream).isTooLittle(isStuck, leastBytes)) {
              tooSlow.add(stream);
            }
            return true;
          });
    } catch (Http2Exception e) {
      throw new AssertionError("nothing above throws it", e);
    }
    tooSlow.forEach(stream -> end(context, stream));
    Http2Stream whole = connection.connectionStream();
    boolean isStuck = littleIsOwed && !queued.isEmpty() && flow.windowSize(whole) <= 0;
    return allowance(whole).isTooLittle(isStuck, leastBytes);
  }

  /** Tells whoever answers on the stream, and resets it where that has not: it may be done. */
  private void end(ChannelHandlerContext context, Http2Stream stream) {
    Http2Error error = Http2Error.ENHANCE_YOUR_CALM;
    handler.onError(
        context,
        false,
        Http2Exception.streamError(
            stream.id(),
            error,
            "the client takes less than %d bytes of its answer a second",
            LeastPace.BYTES_PER_SECOND));
    if (connection.stream(stream.id()) != null && !stream.isResetSent()) {
      handler.resetStream(context, stream.id(), error.code(), context.newPromise());
    }
    context.flush();
  }
}
