package io.pipelane.server.grpc;

import io.netty.buffer.ByteBufAllocator;
import io.netty.channel.EventLoopGroup;
import io.netty.util.concurrent.EventExecutor;
import io.pipelane.server.net.Backend;
import io.pipelane.server.net.TransferBuffers;
import java.util.concurrent.Executor;
import org.jspecify.annotations.Nullable;

/**
 * The parts that all inferences of the front end share.
 *
 * @param transfers where large inputs and outputs lie
 * @param allocator for the others
 * @param loops small answers are encoded on one of them
 * @param codecs runs what would hold an event loop for too long
 * @param maxResponseBytes the largest output
 */
record InferenceParts(
    Backend backend,
    TransferBuffers transfers,
    ByteBufAllocator allocator,
    EventLoopGroup loops,
    Executor codecs,
    int maxResponseBytes) {

  /** The event loop that calls; any, where another thread does. */
  EventExecutor loop() {
    EventExecutor calling = calling();
    return calling == null ? loops.next() : calling;
  }

  /** Whether an event loop calls. */
  boolean isLoop() {
    return calling() != null;
  }

  private @Nullable EventExecutor calling() {
    for (EventExecutor loop : loops) {
      if (loop.inEventLoop()) {
        return loop;
      }
    }
    return null;
  }
}
