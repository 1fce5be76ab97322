package io.pipelane.server.grpc;

import io.grpc.BindableService;
import io.grpc.Codec;
import io.grpc.DecompressorRegistry;
import io.grpc.Server;
import io.grpc.netty.NettyServerBuilder;
import io.grpc.protobuf.services.ProtoReflectionService;
import io.grpc.protobuf.services.ProtoReflectionServiceV1;
import io.netty.buffer.PooledByteBufAllocator;
import io.netty.channel.ChannelOption;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.ReflectiveChannelFactory;
import io.netty.channel.ServerChannel;
import io.netty.util.concurrent.DefaultThreadFactory;
import io.netty.util.concurrent.Future;
import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.lanes.allocation.TransferMemory;
import io.pipelane.server.hosts.Hosts;
import io.pipelane.server.net.Backend;
import io.pipelane.server.net.CodecThreads;
import io.pipelane.server.net.TransferBuffers;
import io.pipelane.server.net.Transport;
import java.io.IOException;
import java.lang.System.Logger.Level;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.logging.Logger;
import org.jspecify.annotations.Nullable;

/**
 * The gRPC front end: the inference service, health and reflection. Calls are handled on event
 * loops and never block one. Every method is safe for any thread.
 */
public final class GrpcServer implements AutoCloseable {
  private static final System.Logger LOG = System.getLogger(GrpcServer.class.getName());

  /**
   * Each message that is too large, and each call that its client gives up, would have its trace.
   */
  private static final Logger LIBRARY = Logger.getLogger("io.grpc.netty");

  /** Each frame that comes behind the end of a call would have its line. */
  private static final Logger FRAMES = Logger.getLogger("io.netty.handler.codec.http2");

  static {
    LIBRARY.setLevel(java.util.logging.Level.SEVERE);
    FRAMES.setLevel(java.util.logging.Level.WARNING);
  }

  private static final int ROOM_FOR_DESCRIPTION = HeapNeed.MOST_DESCRIBING_BYTES;

  /** The largest output. */
  static final int MAXIMUM_OUTPUT_BYTES = Integer.MAX_VALUE - ROOM_FOR_DESCRIPTION;

  private static final int MAXIMUM_HEADERS_LENGTH = 32 << 10;
  private static final int MAXIMUM_CALLS_PER_CONNECTION = 1024;

  /**
   * Calls that a connection's client may withdraw in the time below, a thousand a second as where
   * an overloaded server lets deadlines pass; beyond it is closed (CVE-2023-44487).
   */
  static final int MAXIMUM_RESETS = 10 * MAXIMUM_CALLS_PER_CONNECTION;

  private static final Duration RESETS_COUNTED_FOR = Duration.ofSeconds(10);
  private static final int FLOW_CONTROL_WINDOW = 4 << 20;
  private static final Duration LEAST_KEEP_ALIVE = Duration.ofSeconds(10);
  private static final Duration CLOSING_TIME = Duration.ofSeconds(2);

  private final EventLoopGroup loops;
  private final CodecThreads codecs;
  private final AtomicBoolean draining = new AtomicBoolean();
  private final ReadinessHealth health;
  private final MessagePace pace;
  private final LastingCalls lasting = new LastingCalls();
  private final CallCount calls = new CallCount();
  private final Server server;

  private GrpcServer(
      GrpcSettings settings,
      Backend backend,
      Optional<Hosts> hosts,
      TransferMemory transferMemory) {
    Transport transport = settings.transport().resolve();
    codecs = new CodecThreads("grpc-codec");
    loops =
        new MultiThreadIoEventLoopGroup(
            settings.eventLoops(), new DefaultThreadFactory("grpc", true), transport.ioHandlers());
    health = new ReadinessHealth(backend::isReady, loops);
    pace = new MessagePace(settings.idleTimeout());
    long period = settings.idleTimeout().toMillis();
    Future<?> _ = loops.scheduleWithFixedDelay(pace::look, period, period, TimeUnit.MILLISECONDS);
    InferenceParts parts =
        new InferenceParts(
            backend,
            new TransferBuffers(transferMemory),
            PooledByteBufAllocator.DEFAULT,
            loops,
            codecs,
            MAXIMUM_OUTPUT_BYTES);
    @Nullable CallForwarding forwarding =
        hosts
            .map(others -> new CallForwarding(others, parts, settings.maxMessageBytes()))
            .orElse(null);
    try {
      server = listen(settings, transport, parts, forwarding);
    } catch (RuntimeException | Error e) {
      stop();
      throw e;
    }
  }

  /**
   * Listens and serves.
   *
   * @param transferMemory where large inputs and outputs lie, as far as it goes
   * @throws StatusException {@link Status#UNAVAILABLE} when the address cannot be listened on,
   *     {@link Status#UNIMPLEMENTED} when the transport is not available
   */
  public static GrpcServer start(
      GrpcSettings settings, Backend backend, TransferMemory transferMemory) {
    return start(settings, backend, Optional.empty(), transferMemory);
  }

  /**
   * The same.
   *
   * @param hosts other hosts that may answer
   */
  public static GrpcServer start(
      GrpcSettings settings,
      Backend backend,
      Optional<Hosts> hosts,
      TransferMemory transferMemory) {
    return new GrpcServer(settings, backend, hosts, transferMemory);
  }

  private Server listen(
      GrpcSettings settings,
      Transport transport,
      InferenceParts parts,
      @Nullable CallForwarding forwarding) {
    InetSocketAddress address = new InetSocketAddress(settings.host(), settings.port());
    int maxMessageBytes =
        Math.min(Integer.MAX_VALUE - ROOM_FOR_DESCRIPTION, settings.maxMessageBytes())
            + ROOM_FOR_DESCRIPTION;
    try {
      NettyServerBuilder builder = NettyServerBuilder.forAddress(address);
      settings.tls().ifPresent(tls -> builder.sslContext(tls.grpc()));
      if (parts.backend().statistics().traces()) {
        builder.intercept(new GrpcTracing());
      }
      return builder
          .bossEventLoopGroup(loops)
          .workerEventLoopGroup(loops)
          .channelFactory(() -> listening(transport.serverChannel(), settings))
          .withChildOption(ChannelOption.TCP_NODELAY, true)
          .directExecutor()
          .decompressorRegistry(
              DecompressorRegistry.emptyInstance()
                  .with(Codec.Identity.NONE, false)
                  .with(new LazyGzip(maxMessageBytes), true))
          .maxInboundMessageSize(maxMessageBytes)
          .maxInboundMetadataSize(MAXIMUM_HEADERS_LENGTH)
          .maxConcurrentCallsPerConnection(MAXIMUM_CALLS_PER_CONNECTION)
          .maxRstFramesPerWindow(MAXIMUM_RESETS, Math.toIntExact(RESETS_COUNTED_FOR.toSeconds()))
          .flowControlWindow(FLOW_CONTROL_WINDOW)
          .maxConnectionIdle(settings.idleTimeout().toMillis(), TimeUnit.MILLISECONDS)
          .permitKeepAliveTime(LEAST_KEEP_ALIVE.toMillis(), TimeUnit.MILLISECONDS)
          .permitKeepAliveWithoutCalls(true)
          .intercept(new GrpcPriority())
          .intercept(new GrpcAccess(parts.backend().access()))
          .intercept(pace)
          .intercept(lasting)
          .addStreamTracerFactory(new MessageLimits())
          .addStreamTracerFactory(pace)
          .addStreamTracerFactory(calls)
          .addService(InferenceCalls.of(parts, forwarding, lasting))
          .addService(UnreadableMessages.refusedBy(health.service()))
          .addService(
              UnreadableMessages.refusedBy(ProtoReflectionServiceV1.newInstance().bindService()))
          .addService(UnreadableMessages.refusedBy(olderReflection().bindService()))
          .build()
          .start();
    } catch (IOException e) {
      Throwable cause = e.getCause();
      Throwable reason = cause == null || cause.getMessage() == null ? e : cause;
      throw new StatusException(
          Status.UNAVAILABLE,
          "cannot listen on %s:%d for gRPC: %s"
              .formatted(settings.host(), settings.port(), reason.getMessage()),
          e);
    }
  }

  /** The only one that older tools ask. */
  @SuppressWarnings("deprecation")
  private static BindableService olderReflection() {
    return ProtoReflectionService.newInstance();
  }

  private static ServerChannel listening(
      Class<? extends ServerChannel> type, GrpcSettings settings) {
    ServerChannel channel = new ReflectiveChannelFactory<ServerChannel>(type).newChannel();
    channel
        .pipeline()
        .addLast(new ConnectionCount(settings.maxConnections(), settings.idleTimeout()));
    return channel;
  }

  /** Where the server listens. */
  public InetSocketAddress address() {
    return (InetSocketAddress) server.getListenSockets().getFirst();
  }

  /**
   * Accepts no more calls. Those of one message go on; those that last take nothing more and are
   * ended once they have answered what they have taken. Returns at once; does nothing the second
   * time.
   */
  public void beginDrain() {
    if (!draining.getAndSet(true)) {
      health.end();
      server.shutdown();
      lasting.beginDrain();
    }
  }

  /**
   * Stops: accepts no more calls, answers those that run, then closes everything. Blocks; does
   * nothing the second time. A client that does not say that it sends no more calls has 10 s for
   * that, as gRPC has it, or as long as calls may take, but keeps no call waiting.
   *
   * @param timeout how long running calls may take; what is not answered then is cancelled
   * @return whether all of them were answered
   */
  public boolean drain(Duration timeout) {
    beginDrain();
    long left = await(timeout) ? 0 : calls.underWay();
    if (left > 0 && !timeout.isZero()) {
      LOG.log(Level.WARNING, "gRPC ends with {0} calls under way, as time is up", left);
    }
    server.shutdownNow();
    await(CLOSING_TIME);
    stop();
    return left == 0;
  }

  private boolean await(Duration timeout) {
    try {
      return server.awaitTermination(timeout.toNanos(), TimeUnit.NANOSECONDS);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      return false;
    }
  }

  private void stop() {
    loops
        .shutdownGracefully(0, CLOSING_TIME.toMillis(), TimeUnit.MILLISECONDS)
        .awaitUninterruptibly(2 * CLOSING_TIME.toMillis());
    codecs.stop(CLOSING_TIME);
  }

  /** Stops without waiting for running calls. */
  @Override
  public void close() {
    drain(Duration.ZERO);
  }
}
