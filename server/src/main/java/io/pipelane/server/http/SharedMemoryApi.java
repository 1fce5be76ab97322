package io.pipelane.server.http;

import io.netty.buffer.ByteBuf;
import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.server.access.ManagementLog;
import io.pipelane.server.http.message.Response;
import io.pipelane.server.http.message.Route;
import io.pipelane.server.protocol.SharedMemoryJson;
import io.pipelane.server.shared.RegionSpec;
import io.pipelane.server.shared.SharedMemory;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;

/** The handler of the shared memory extensions' routes. Safe for any event loop. */
public final class SharedMemoryApi {
  private static final Duration RETRY_AFTER_BUSY = Duration.ofSeconds(1);

  private final SharedMemory memory;
  private final Executor codecs;

  /**
   * @param codecs opens regions, which may wait
   */
  SharedMemoryApi(SharedMemory memory, Executor codecs) {
    this.memory = memory;
    this.codecs = codecs;
  }

  /**
   * Answers one of these routes.
   *
   * @throws StatusException when it cannot be done
   */
  void answer(Exchange exchange, Route.OfSharedMemory route, ByteBuf body) {
    switch (route) {
      case Route.SharedMemoryStatus(String region) -> {
        List<RegionSpec> regions = memory.status(region);
        exchange.answer(
            Response.ok(exchange.allocator(), target -> SharedMemoryJson.write(target, regions)));
      }
      case Route.RegisterSharedMemory(String region) -> {
        RegionSpec spec = SharedMemoryJson.read(body, region);
        whenChanged(exchange, register(spec), ManagementLog.registered(spec.name(), spec.key()));
      }
      case Route.UnregisterSharedMemory(String region) ->
          whenChanged(exchange, memory.unregister(region), ManagementLog.unregistered(region));
      case Route.CudaSharedMemory _ ->
          throw new StatusException(
              Status.UNIMPLEMENTED,
              "a GPU's memory is not shared here; use system shared memory, or send the data");
    }
  }

  private static void whenChanged(Exchange exchange, CompletableFuture<Void> change, String what) {
    LaterAnswer.whenDone(exchange, ManagementLog.tellWhenDone(change, exchange.caller(), what));
  }

  private CompletableFuture<Void> register(RegionSpec spec) {
    try {
      return CompletableFuture.runAsync(() -> memory.register(spec), codecs);
    } catch (RejectedExecutionException e) {
      throw StatusException.unavailable("the server is busy; try again", RETRY_AFTER_BUSY);
    }
  }
}
