package io.pipelane.loadgen.network;

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
import io.pipelane.loadgen.drive.Timeline;
import java.util.concurrent.TimeUnit;

/**
 * The one thread of a run, an event loop, and its clock. One thread keeps the generator's own CPU
 * time low and everything it measures in one order.
 */
public final class SendingThread implements Timeline, AutoCloseable {
  private final boolean epoll = Epoll.isAvailable();
  private final EventLoopGroup group;
  private final EventLoop eventLoop;

  /** Starts it. */
  public SendingThread() {
    IoHandlerFactory io = epoll ? EpollIoHandler.newFactory() : NioIoHandler.newFactory();
    group = new MultiThreadIoEventLoopGroup(1, new DefaultThreadFactory("load", true), io);
    eventLoop = group.next();
  }

  /** The event loop, alone in its group. */
  public EventLoopGroup group() {
    return group;
  }

  /** The kind of channel that the event loop can drive. */
  public Class<? extends SocketChannel> channel() {
    return epoll ? EpollSocketChannel.class : NioSocketChannel.class;
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

  /** Runs a task on the thread, soon; from any thread. */
  public void execute(Runnable task) {
    eventLoop.execute(task);
  }

  /** Ends the thread; returns when that is done. */
  @Override
  public void close() {
    group.shutdownGracefully(0, 5, TimeUnit.SECONDS).awaitUninterruptibly();
  }
}
