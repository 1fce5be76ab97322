package io.pipelane.loadgen.http;

import io.netty.bootstrap.Bootstrap;
import io.netty.channel.ChannelOption;
import io.netty.channel.EventLoop;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.IoHandlerFactory;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.epoll.Epoll;
import io.netty.channel.epoll.EpollIoHandler;
import io.netty.channel.epoll.EpollSocketChannel;
import io.netty.channel.nio.NioIoHandler;
import io.netty.channel.socket.SocketChannel;
import io.netty.channel.socket.nio.NioSocketChannel;
import io.netty.util.concurrent.DefaultThreadFactory;
import io.pipelane.loadgen.drive.Connection;
import io.pipelane.loadgen.drive.Timeline;
import io.pipelane.loadgen.settings.LoadTest;
import io.pipelane.loadgen.settings.ResponseCheck;
import java.net.InetSocketAddress;
import java.net.URI;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

/**
 * The network side of a run: one event loop with its clock, and the connections on it. One thread
 * keeps the generator's own CPU time low and everything it measures in one order.
 */
public final class HttpTransport implements Timeline, Connection.Factory, AutoCloseable {
  private static final int CONNECT_TIMEOUT_MILLIS = 5_000;

  private final EventLoopGroup group;
  private final EventLoop eventLoop;
  private final EncodedRequests requests;
  private final Bootstrap bootstrap;
  private final boolean keepBodies;
  private final List<HttpConnection> connections = new ArrayList<>();

  /** Prepares the event loop and the bytes of all requests; opens nothing. */
  public HttpTransport(LoadTest test) {
    boolean epoll = Epoll.isAvailable();
    IoHandlerFactory io = epoll ? EpollIoHandler.newFactory() : NioIoHandler.newFactory();
    Class<? extends SocketChannel> channel =
        epoll ? EpollSocketChannel.class : NioSocketChannel.class;
    group = new MultiThreadIoEventLoopGroup(1, new DefaultThreadFactory("load", true), io);
    eventLoop = group.next();
    requests = new EncodedRequests(test);
    keepBodies = !test.check().equals(ResponseCheck.NONE);
    bootstrap =
        new Bootstrap()
            .group(eventLoop)
            .channel(channel)
            .option(ChannelOption.TCP_NODELAY, true)
            .option(ChannelOption.CONNECT_TIMEOUT_MILLIS, CONNECT_TIMEOUT_MILLIS)
            .remoteAddress(address(test.url()));
  }

  @Override
  public long nanoTime() {
    return System.nanoTime();
  }

  @Override
  @SuppressWarnings("FutureReturnValueIgnored") // a run's tasks report their own failures
  public void at(long nanoTime, Runnable task) {
    eventLoop.schedule(task, Math.max(0, nanoTime - nanoTime()), TimeUnit.NANOSECONDS);
  }

  /** Runs a task on the event loop, which is the run's thread. */
  public void execute(Runnable task) {
    eventLoop.execute(task);
  }

  @Override
  public Connection create(Connection.Listener listener) {
    HttpConnection connection = new HttpConnection(bootstrap, requests, keepBodies, listener);
    connections.add(connection);
    return connection;
  }

  /** Closes all connections and ends the event loop; returns when both are done. */
  @Override
  public void close() {
    eventLoop.execute(() -> connections.forEach(HttpConnection::close));
    group.shutdownGracefully(0, 5, TimeUnit.SECONDS).awaitUninterruptibly();
    requests.close();
  }

  private static InetSocketAddress address(URI url) {
    return new InetSocketAddress(url.getHost(), url.getPort() < 0 ? 80 : url.getPort());
  }
}
