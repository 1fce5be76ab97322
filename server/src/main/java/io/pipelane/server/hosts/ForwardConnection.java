package io.pipelane.server.hosts;

import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.handler.codec.http.HttpContent;
import io.netty.handler.codec.http.HttpHeaders;
import io.netty.handler.codec.http.HttpResponse;
import io.netty.handler.codec.http.HttpResponseStatus;
import io.netty.handler.codec.http.HttpStatusClass;
import io.netty.handler.codec.http.HttpUtil;
import io.netty.handler.codec.http.LastHttpContent;
import io.netty.handler.timeout.IdleStateEvent;
import io.netty.util.ReferenceCountUtil;
import io.pipelane.config.StatusException;
import io.pipelane.server.memory.DirectMemory;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A connection to another host, and the answer that is coming in on it. Belongs to its event loop.
 */
@SuppressWarnings("FutureReturnValueIgnored") // a close that fails has closed the channel
final class ForwardConnection extends ChannelInboundHandlerAdapter {
  /** An answer without an end ends here, where there is more memory than that. */
  private static final long LARGEST_ANSWER = Integer.MAX_VALUE;

  private final Forwarder forwarder;
  private final HostAddress host;
  private @Nullable ForwardAttempt attempt;
  private @Nullable HttpResponse head;
  private List<ByteBuf> body = new ArrayList<>();
  private long bodyBytes;
  private @Nullable Throwable trouble;

  ForwardConnection(Forwarder forwarder, HostAddress host) {
    this.forwarder = forwarder;
    this.host = host;
  }

  /** Takes answers for an attempt from now on, until it has one. */
  void serve(ForwardAttempt next) {
    attempt = next;
  }

  /** Whether anything of the answer has come. */
  boolean hasBegun() {
    return head != null;
  }

  @Override
  public void channelRead(ChannelHandlerContext context, Object message) {
    try {
      if (message instanceof HttpResponse response) {
        if (attempt == null || isNoAnswer(response)) {
          context.close();
          return;
        }
        if (response.status().codeClass() == HttpStatusClass.INFORMATIONAL) {
          return;
        }
        head = response;
      }
      if (message instanceof HttpContent content && head != null) {
        if (content.decoderResult().isFailure()) {
          context.close();
          return;
        }
        bodyBytes += content.content().readableBytes();
        if (bodyBytes > LARGEST_ANSWER || !hasRoom()) {
          tooLarge(context);
          return;
        }
        if (content.content().isReadable()) {
          body.add(content.content().retain());
        }
        if (content instanceof LastHttpContent) {
          end(context, head);
        }
      }
    } finally {
      ReferenceCountUtil.release(message);
    }
  }

  /** Whether the answer leaves to small ones what is theirs. */
  private boolean hasRoom() {
    try {
      DirectMemory.checkArriving(bodyBytes);
      return true;
    } catch (StatusException e) {
      return false;
    }
  }

  /** Whether it is nothing that a client could be told, or after which no HTTP comes. */
  private static boolean isNoAnswer(HttpResponse response) {
    return response.decoderResult().isFailure()
        || response.status().codeClass() == HttpStatusClass.UNKNOWN
        || response.status().equals(HttpResponseStatus.SWITCHING_PROTOCOLS);
  }

  private void end(ChannelHandlerContext context, HttpResponse response) {
    ForwardAttempt ended = attempt;
    HttpResponseStatus status = response.status();
    HttpHeaders headers = response.headers();
    Forward.Answer answer = new Forward.Answer(status, headers, body);
    attempt = null;
    head = null;
    body = new ArrayList<>();
    bodyBytes = 0;
    if (HttpUtil.isKeepAlive(response)) {
      forwarder.keep(context.channel(), host);
    } else {
      context.close();
    }
    if (ended == null) {
      answer.release();
    } else {
      ended.answered(answer);
    }
  }

  @Override
  public void userEventTriggered(ChannelHandlerContext context, Object event) {
    if (event instanceof IdleStateEvent && attempt == null) {
      context.close();
    }
  }

  @Override
  public void exceptionCaught(ChannelHandlerContext context, Throwable cause) {
    if (DirectMemory.isBehind(cause)) {
      tooLarge(context);
    } else {
      trouble = cause;
      context.close();
    }
  }

  private void tooLarge(ChannelHandlerContext context) {
    ForwardAttempt ended = attempt;
    attempt = null;
    head = null;
    context.close(); // Which gives back what has come.
    if (ended != null) {
      ended.tooLarge();
    }
  }

  @Override
  public void channelInactive(ChannelHandlerContext context) {
    forwarder.forget(context.channel(), host);
    ForwardAttempt broken = attempt;
    boolean begun = hasBegun();
    attempt = null;
    head = null;
    body.forEach(ByteBuf::release);
    body = new ArrayList<>();
    if (broken != null) {
      broken.broken(begun, trouble);
    }
  }
}
