package io.pipelane.server.net;

import io.netty.channel.IoHandlerFactory;
import io.netty.channel.epoll.Epoll;
import io.netty.channel.epoll.EpollIoHandler;
import io.netty.channel.epoll.EpollServerSocketChannel;
import io.netty.channel.epoll.EpollSocketChannel;
import io.netty.channel.nio.NioIoHandler;
import io.netty.channel.socket.ServerSocketChannel;
import io.netty.channel.socket.SocketChannel;
import io.netty.channel.socket.nio.NioServerSocketChannel;
import io.netty.channel.socket.nio.NioSocketChannel;
import io.netty.channel.uring.IoUring;
import io.netty.channel.uring.IoUringIoHandler;
import io.netty.channel.uring.IoUringServerSocketChannel;
import io.netty.channel.uring.IoUringSocketChannel;
import io.pipelane.config.Status;
import io.pipelane.config.StatusException;

/** The kernel interface by which the server speaks to sockets. */
public enum Transport {
  /** The first of io_uring, epoll and NIO that this machine offers. */
  AUTO,
  IO_URING,
  EPOLL,
  NIO;

  /**
   * The transport to use.
   *
   * @throws StatusException {@link Status#UNIMPLEMENTED} when this machine does not offer it
   */
  public Transport resolve() {
    return switch (this) {
      case AUTO -> IoUring.isAvailable() ? IO_URING : Epoll.isAvailable() ? EPOLL : NIO;
      case IO_URING -> require(IoUring.isAvailable(), IoUring.unavailabilityCause());
      case EPOLL -> require(Epoll.isAvailable(), Epoll.unavailabilityCause());
      case NIO -> NIO;
    };
  }

  private Transport require(boolean available, Throwable cause) {
    if (!available) {
      throw new StatusException(
          Status.UNIMPLEMENTED,
          "transport " + this + " is not available here (" + cause.getMessage() + "); use AUTO",
          cause);
    }
    return this;
  }

  /** What event loops of a resolved transport are made with. */
  public IoHandlerFactory ioHandlers() {
    return switch (this) {
      case IO_URING -> IoUringIoHandler.newFactory();
      case EPOLL -> EpollIoHandler.newFactory();
      case AUTO, NIO -> NioIoHandler.newFactory();
    };
  }

  /** The listening channel of a resolved transport. */
  public Class<? extends ServerSocketChannel> serverChannel() {
    return switch (this) {
      case IO_URING -> IoUringServerSocketChannel.class;
      case EPOLL -> EpollServerSocketChannel.class;
      case AUTO, NIO -> NioServerSocketChannel.class;
    };
  }

  /** The connecting channel of a resolved transport. */
  public Class<? extends SocketChannel> clientChannel() {
    return switch (this) {
      case IO_URING -> IoUringSocketChannel.class;
      case EPOLL -> EpollSocketChannel.class;
      case AUTO, NIO -> NioSocketChannel.class;
    };
  }
}
