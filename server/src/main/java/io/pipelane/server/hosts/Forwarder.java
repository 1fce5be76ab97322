package io.pipelane.server.hosts;

import io.netty.bootstrap.Bootstrap;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.ChannelOption;
import io.netty.channel.EventLoop;
import io.netty.handler.codec.http.HttpClientCodec;
import io.netty.handler.codec.http.HttpDecoderConfig;
import io.netty.handler.ssl.SslContext;
import io.netty.handler.ssl.SslHandler;
import io.netty.handler.timeout.IdleStateHandler;
import io.pipelane.server.net.Transport;
import io.pipelane.server.net.UnheardReset;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * Sends requests to other hosts, over HTTP/1.1 connections that are kept: one request on each at a
 * time, so that giving a request up is closing its connection, which the other host heeds.
 */
@SuppressWarnings("FutureReturnValueIgnored") // a connection that cannot be closed has gone
final class Forwarder {
  /*
   * A request, its connection and everything told of it belong to one event loop, that of the
   * client's connection: nothing hops between threads. So each loop keeps connections of its own.
   */
  private static final int LARGEST_LINE = 8 << 10;
  private static final int LARGEST_HEAD = 32 << 10;
  private static final int LARGEST_PIECE = 1 << 20;

  /** Less than a server's usual patience with a connection that says nothing. */
  private static final Duration KEPT_FOR = Duration.ofSeconds(20);

  private final Settings settings;
  private final Map<EventLoop, Map<HostAddress, Deque<Channel>>> idle = new ConcurrentHashMap<>();

  /**
   * The settings of a forwarder.
   *
   * @param own this host's name, which requests are marked with
   * @param transport of the event loops
   * @param tls for hosts that are spoken to by TLS
   * @param connectTimeout how long a connection may take to come about
   * @param answerTimeout from the request to the end of its answer
   */
  record Settings(
      String own,
      Transport transport,
      SslContext tls,
      Duration connectTimeout,
      Duration answerTimeout) {}

  Forwarder(Settings settings) {
    this.settings = settings;
  }

  Settings settings() {
    return settings;
  }

  /**
   * Sends a request; on its event loop.
   *
   * @param receiver told the end later, or before this returns
   */
  ForwardAttempt send(RemoteHost host, Forward.Request request, Forward.Receiver receiver) {
    ForwardAttempt attempt = new ForwardAttempt(this, host, request, receiver);
    attempt.begin();
    return attempt;
  }

  /** A kept connection; null where there is none. On the loop. */
  @Nullable Channel takeKept(EventLoop loop, HostAddress host) {
    Map<HostAddress, Deque<Channel>> all = idle.getOrDefault(loop, Map.of());
    @Nullable Deque<Channel> kept = all.get(host);
    @Nullable Channel taken = kept == null ? null : lastActive(kept);
    if (kept != null && kept.isEmpty()) {
      all.remove(host);
    }
    return taken;
  }

  private static @Nullable Channel lastActive(Deque<Channel> kept) {
    for (Channel channel = kept.pollLast(); channel != null; channel = kept.pollLast()) {
      if (channel.isActive()) {
        return channel;
      }
    }
    return null;
  }

  /** Keeps a connection whose answer has come whole. On its loop. */
  void keep(Channel channel, HostAddress host) {
    idle.computeIfAbsent(channel.eventLoop(), _ -> new HashMap<>())
        .computeIfAbsent(host, _ -> new ArrayDeque<>())
        .addLast(channel);
  }

  /** A connection that was kept has ended. On its loop. */
  void forget(Channel channel, HostAddress host) {
    Map<HostAddress, Deque<Channel>> all = idle.getOrDefault(channel.eventLoop(), Map.of());
    @Nullable Deque<Channel> kept = all.get(host);
    if (kept != null && kept.remove(channel) && kept.isEmpty()) {
      all.remove(host);
    }
  }

  /** Begins a connection, whose handler is a {@link ForwardConnection}. */
  ChannelFuture connect(EventLoop loop, RemoteHost host) {
    return new Bootstrap()
        .disableResolver() // The name has been looked up elsewhere, which blocks.
        .group(loop)
        .channel(settings.transport.clientChannel())
        .option(ChannelOption.TCP_NODELAY, true)
        .option(
            ChannelOption.CONNECT_TIMEOUT_MILLIS,
            Math.toIntExact(settings.connectTimeout.toMillis()))
        .handler(
            new ChannelInitializer<Channel>() {
              @Override
              protected void initChannel(Channel channel) {
                setUp(channel, host.address);
              }
            })
        .connect(host.socket());
  }

  private void setUp(Channel channel, HostAddress host) {
    UnheardReset.watch(channel);
    if (host.secure()) {
      SslHandler handler = settings.tls.newHandler(channel.alloc(), host.host(), host.port());
      handler.setHandshakeTimeout(settings.connectTimeout.toMillis(), TimeUnit.MILLISECONDS);
      channel.pipeline().addLast(handler);
    }
    channel
        .pipeline()
        .addLast(
            new HttpClientCodec(
                new HttpDecoderConfig()
                    .setMaxInitialLineLength(LARGEST_LINE)
                    .setMaxHeaderSize(LARGEST_HEAD)
                    .setMaxChunkSize(LARGEST_PIECE),
                false,
                false))
        .addLast(new IdleStateHandler(0, 0, KEPT_FOR.toMillis(), TimeUnit.MILLISECONDS))
        .addLast(new ForwardConnection(this, host));
  }
}
