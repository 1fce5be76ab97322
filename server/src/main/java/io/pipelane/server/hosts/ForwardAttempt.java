package io.pipelane.server.hosts;

import io.netty.channel.Channel;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelFutureListener;
import io.netty.handler.codec.http.DefaultFullHttpRequest;
import io.netty.handler.codec.http.EmptyHttpHeaders;
import io.netty.handler.codec.http.HttpVersion;
import io.netty.handler.ssl.SslHandler;
import io.netty.util.concurrent.Future;
import io.pipelane.server.hosts.Forward.Failure;
import io.pipelane.server.hosts.RemoteHost.Outcome;
import java.util.Objects;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/** One request given to one other host. Belongs to its event loop. */
@SuppressWarnings("FutureReturnValueIgnored") // a write or close that fails closes the channel
final class ForwardAttempt {
  /*
   * A kept connection may just have been closed by the other side. So a request whose kept
   * connection ends before anything of an answer has come is sent once more on a new one, unless it
   * may be sent only once: that one takes no kept connections at all.
   */
  private final Forwarder forwarder;
  private final RemoteHost host;
  private final Forward.Request request;
  private final Forward.Receiver receiver;
  private @Nullable Channel channel;
  private @Nullable Future<?> deadline;
  private RemoteHost.@Nullable Given given;
  private boolean onKept;
  private boolean ended;

  ForwardAttempt(
      Forwarder forwarder, RemoteHost host, Forward.Request request, Forward.Receiver receiver) {
    this.forwarder = forwarder;
    this.host = host;
    this.request = request;
    this.receiver = receiver;
  }

  void begin() {
    given = host.give(this::hostGone);
    long patience = forwarder.settings().answerTimeout().toNanos();
    long left = request.once() ? Long.MAX_VALUE : request.leftNanos(); // Its owner knows better.
    Failure end = left < patience ? Failure.OVERDUE : Failure.LATE;
    deadline =
        request.loop().schedule(() -> fail(end), Math.min(left, patience), TimeUnit.NANOSECONDS);
    Channel kept = request.once() ? null : forwarder.takeKept(request.loop(), host.address);
    if (kept == null) {
      connect();
    } else {
      onKept = true;
      write(kept);
    }
  }

  private void connect() {
    forwarder.connect(request.loop(), host).addListener((ChannelFuture done) -> told(done));
  }

  /** Without a descriptor for a socket, Netty tells it on a thread of its own. */
  private void told(ChannelFuture done) {
    if (request.loop().inEventLoop()) {
      connected(done);
    } else {
      onLoop(() -> connected(done));
    }
  }

  private void connected(ChannelFuture done) {
    if (!done.isSuccess()) {
      unreached(done.cause());
      return;
    }
    SslHandler tls = done.channel().pipeline().get(SslHandler.class);
    if (tls == null) {
      ready(done.channel());
    } else {
      tls.handshakeFuture()
          .addListener(
              shaken -> {
                if (shaken.isSuccess()) {
                  ready(done.channel());
                } else {
                  done.channel().close();
                  unreached(shaken.cause());
                }
              });
    }
  }

  private void unreached(Throwable cause) {
    host.complainOf(cause);
    if (ended) { // Nobody waits for it any more, but others may be sent there.
      receiver.unreachedAfterAll();
    } else {
      fail(Failure.UNREACHED);
    }
  }

  private void ready(Channel connected) {
    if (ended) {
      forwarder.keep(connected, host.address);
    } else if (!connected.isActive()) {
      fail(Failure.UNREACHED);
    } else {
      write(connected);
    }
  }

  private void write(Channel to) {
    channel = to;
    to.pipeline().get(ForwardConnection.class).serve(this);
    to.writeAndFlush(
            new DefaultFullHttpRequest(
                HttpVersion.HTTP_1_1,
                request.method(),
                request.target(),
                request.body().retainedDuplicate(),
                ForwardedHeaders.of(request, host.address, forwarder.settings().own()),
                EmptyHttpHeaders.INSTANCE))
        .addListener(ChannelFutureListener.CLOSE_ON_FAILURE);
  }

  void answered(Forward.Answer answer) {
    if (ended) {
      answer.release();
    } else {
      end(answer.isRefusal() ? Outcome.REFUSED : Outcome.ANSWERED);
      receiver.answered(answer);
    }
  }

  /** The answer is larger than any may be, or finds no room here. */
  void tooLarge() {
    fail(Failure.TOO_LARGE);
  }

  /**
   * The connection has ended.
   *
   * @param cause null where it was simply closed
   */
  void broken(boolean answerHadBegun, @Nullable Throwable cause) {
    channel = null;
    if (onKept && !answerHadBegun && !ended) {
      onKept = false;
      connect();
    } else {
      if (cause != null && !ended) {
        host.complainOf(cause);
      }
      fail(Failure.BROKEN);
    }
  }

  /** The host has gone; on any thread. */
  private void hostGone() {
    onLoop(() -> fail(channel == null && !onKept ? Failure.UNREACHED : Failure.BROKEN));
  }

  private void onLoop(Runnable action) {
    try {
      request.loop().execute(action);
    } catch (RejectedExecutionException e) {
      // The loop has ended, and the request with it.
    }
  }

  private void fail(Failure failure) {
    if (!ended) {
      end(outcome(failure));
      closeChannel();
      receiver.failed(failure);
    }
  }

  private static Outcome outcome(Failure failure) {
    return switch (failure) {
      case UNREACHED, BROKEN -> Outcome.LOST;
      case LATE -> Outcome.LATE;
      case OVERDUE -> Outcome.OVERDUE;
      case TOO_LARGE -> Outcome.TOO_LARGE;
    };
  }

  /** Gives it up; the receiver is told nothing any more. */
  void cancel() {
    if (!ended) {
      end(Outcome.CANCELLED);
      closeChannel();
    }
  }

  private void end(Outcome outcome) {
    ended = true;
    if (outcome == Outcome.OVERDUE) {
      Objects.requireNonNull(given).endOverdue(forwarder.settings().answerTimeout());
    } else {
      Objects.requireNonNull(given).end(outcome);
    }
    Objects.requireNonNull(deadline).cancel(false);
  }

  private void closeChannel() {
    if (channel != null) {
      channel.close();
    }
  }
}
