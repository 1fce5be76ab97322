package io.pipelane.server.http;

import io.netty.bootstrap.ServerBootstrap;
import io.netty.buffer.PooledByteBufAllocator;
import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.ChannelOption;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.group.ChannelGroup;
import io.netty.channel.group.DefaultChannelGroup;
import io.netty.channel.socket.DuplexChannel;
import io.netty.util.NetUtil;
import io.netty.util.concurrent.DefaultThreadFactory;
import io.netty.util.concurrent.GlobalEventExecutor;
import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.lanes.allocation.TransferMemory;
import io.pipelane.server.hosts.Hosts;
import io.pipelane.server.net.Backend;
import io.pipelane.server.net.CodecThreads;
import io.pipelane.server.net.TransferBuffers;
import io.pipelane.server.net.Transport;
import java.lang.System.Logger.Level;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;

/**
 * The HTTP front end. Requests are decoded on event loops, answered by the catalogue and the
 * inference service, and never block an event loop. Every method is safe for any thread.
 */
@SuppressWarnings("FutureReturnValueIgnored") // a write or close that fails closes the channel
public final class HttpServer implements AutoCloseable {
  private static final System.Logger LOG = System.getLogger(HttpServer.class.getName());

  private static final int BACKLOG = 1024;
  private static final Duration CLOSING_TIME = Duration.ofSeconds(2);

  private final EventLoopGroup loops;
  private final CodecThreads codecs;
  private final ServerActivity activity;
  private final AtomicBoolean draining = new AtomicBoolean();
  private final TransferBuffers transfers;
  private final ChannelGroup connections;
  private final Transport transport;
  private final boolean isSecure;
  private final Channel listener;
  private final @Nullable Channel managementListener;

  private HttpServer(
      HttpSettings settings,
      Backend backend,
      Optional<Hosts> hosts,
      TransferMemory transferMemory) {
    transfers = new TransferBuffers(transferMemory);
    transport = settings.transport().resolve();
    isSecure = settings.tls().isPresent();
    activity = new ServerActivity();
    connections = new DefaultChannelGroup(GlobalEventExecutor.INSTANCE);
    codecs = new CodecThreads("http-codec");
    loops =
        new MultiThreadIoEventLoopGroup(
            settings.eventLoops(), new DefaultThreadFactory("http", true), transport.ioHandlers());
    Api api = new Api(backend, hosts, activity, codecs);
    try {
      ConnectionLimit limit = new ConnectionLimit(settings.maxConnections());
      listener = listen(settings, settings.port(), ServedPort.PUBLIC, limit, api);
      OptionalInt managementPort = backend.access().managementPort();
      managementListener =
          managementPort.isEmpty()
              ? null
              : listen(settings, managementPort.getAsInt(), ServedPort.MANAGEMENT, limit, api);
    } catch (RuntimeException | Error e) {
      stop();
      throw e;
    }
  }

  /**
   * Listens and serves.
   *
   * @param transferMemory where large requests and answers lie, as far as it goes
   * @throws StatusException {@link Status#UNAVAILABLE} when the address cannot be listened on,
   *     {@link Status#UNIMPLEMENTED} when the transport is not available
   */
  public static HttpServer start(
      HttpSettings settings, Backend backend, TransferMemory transferMemory) {
    return start(settings, backend, Optional.empty(), transferMemory);
  }

  /**
   * The same.
   *
   * @param hosts other hosts that may answer
   */
  public static HttpServer start(
      HttpSettings settings,
      Backend backend,
      Optional<Hosts> hosts,
      TransferMemory transferMemory) {
    return new HttpServer(settings, backend, hosts, transferMemory);
  }

  private Channel listen(
      HttpSettings settings, int port, ServedPort served, ConnectionLimit limit, Api api) {
    ConnectionSetup setup = new ConnectionSetup(settings, served, api, activity, transfers);
    ServerBootstrap bootstrap =
        new ServerBootstrap()
            .group(loops)
            .channel(transport.serverChannel())
            .option(ChannelOption.SO_BACKLOG, BACKLOG)
            .option(ChannelOption.SO_REUSEADDR, true)
            .childOption(ChannelOption.TCP_NODELAY, true)
            .childOption(ChannelOption.ALLOCATOR, PooledByteBufAllocator.DEFAULT)
            .childHandler(
                new ChannelInitializer<Channel>() {
                  @Override
                  protected void initChannel(Channel channel) {
                    if (limit.admit(channel)) {
                      connections.add(channel);
                      setup.begin(channel);
                    }
                  }
                });
    InetSocketAddress address = new InetSocketAddress(settings.host(), port);
    if (address.isUnresolved()) {
      throw new StatusException(
          Status.UNAVAILABLE,
          "cannot listen on "
              + settings.host()
              + ": no address is known for this name; set server.host to a name or address of"
              + " this machine");
    }
    var bound = bootstrap.bind(address).awaitUninterruptibly();
    if (!bound.isSuccess()) {
      throw new StatusException(
          Status.UNAVAILABLE,
          "cannot listen on "
              + NetUtil.toSocketAddressString(address)
              + ": "
              + bound.cause().getMessage(),
          bound.cause());
    }
    return bound.channel();
  }

  /** Where the server listens. */
  public InetSocketAddress address() {
    return (InetSocketAddress) listener.localAddress();
  }

  /** Where alone management is served; empty where it has no port of its own. */
  public Optional<InetSocketAddress> managementAddress() {
    return Optional.ofNullable(managementListener)
        .map(channel -> (InetSocketAddress) channel.localAddress());
  }

  /** The same as an address that clients take, such as {@code http://127.0.0.1:8000}. */
  public String url() {
    return (isSecure ? "https://" : "http://") + NetUtil.toSocketAddressString(address());
  }

  /** Connections that are open now. */
  int connections() {
    return connections.size();
  }

  /** The transport in use; never {@link Transport#AUTO}. */
  public Transport transport() {
    return transport;
  }

  /**
   * Accepts no more connections and turns new requests on open ones away with 503, and those whose
   * bodies have not come; those that run go on. Returns at once; does nothing the second time.
   */
  public void beginDrain() {
    if (draining.getAndSet(true)) {
      return;
    }
    activity.drain();
    listener.close().awaitUninterruptibly();
    if (managementListener != null) {
      managementListener.close().awaitUninterruptibly();
    }
    HttpConnection.Draining event = new HttpConnection.Draining();
    connections.forEach(channel -> channel.pipeline().fireUserEventTriggered(event));
  }

  /**
   * Stops: accepts no more connections, answers the requests that run, turns new ones on open
   * connections away with 503, then closes everything. Blocks; does nothing the second time.
   *
   * @param timeout how long running requests may take; what is not answered then is cancelled
   * @return whether all of them were answered
   */
  public boolean drain(Duration timeout) {
    beginDrain();
    var idle = activity.drain();
    boolean answered = true;
    try {
      idle.get(timeout.toNanos(), TimeUnit.NANOSECONDS);
    } catch (TimeoutException e) {
      answered = false;
      if (!timeout.isZero()) {
        LOG.log(
            Level.WARNING,
            "HTTP ends with {0} requests under way, as time is up",
            activity.running());
      }
    } catch (ExecutionException e) {
      throw new AssertionError("the future never fails", e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      answered = false;
    }
    connections.forEach(
        channel -> channel.writeAndFlush(Unpooled.EMPTY_BUFFER).addListener(_ -> end(channel)));
    connections.newCloseFuture().awaitUninterruptibly(CLOSING_TIME.toMillis());
    connections.close().awaitUninterruptibly(CLOSING_TIME.toMillis());
    stop();
    return answered;
  }

  /** Closing while the client still sends could take an answer with it: then it is to close. */
  private static void end(Channel connection) {
    if (HttpConnection.isCutShort(connection) && connection instanceof DuplexChannel duplex) {
      duplex.shutdownOutput();
    } else {
      connection.close();
    }
  }

  private void stop() {
    loops
        .shutdownGracefully(0, CLOSING_TIME.toMillis(), TimeUnit.MILLISECONDS)
        .awaitUninterruptibly(2 * CLOSING_TIME.toMillis());
    codecs.stop(CLOSING_TIME);
  }

  /** Stops without waiting for running requests. */
  @Override
  public void close() {
    drain(Duration.ZERO);
  }
}
