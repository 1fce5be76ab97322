package io.pipelane.bench.sharing;

import io.pipelane.lanes.completion.ThreadEnd;
import io.pipelane.lanes.cpu.ThreadPriority;
import io.pipelane.lanes.monitor.HostMemory;
import io.pipelane.switcher.sharing.Sharing;
import io.pipelane.switcher.sharing.monitor.SharingState;
import java.lang.foreign.Arena;
import java.util.concurrent.locks.LockSupport;

/**
 * A program beside the server that again and again takes the host's memory beyond the server's
 * limit, and gives it back once offline work has been evicted for that.
 */
final class MemoryLoad implements AutoCloseable {
  /*
   * How much is taken is read by the thread itself, before each piece: the server looks at the host
   * now and then alone. Pieces are written to, as the system gives no memory before.
   */
  private static final long PIECE_BYTES = 32 << 20;
  private static final long PAUSE_NANOS = 2_000_000;

  /** How long it is kept where no offline work holds anything. */
  private static final long LONGEST_NANOS = 2_000_000_000;

  private final Sharing sharing;
  private final double enough;
  private final HostMemory host = HostMemory.ofThisMachine();
  private final Thread thread;
  private volatile boolean closed;

  /**
   * Begins.
   *
   * @param enough of the host's memory, the share beyond which nothing more is taken
   * @param nice how much less urgent it is than others
   */
  MemoryLoad(Sharing sharing, double enough, int nice) {
    this.sharing = sharing;
    this.enough = enough;
    this.thread =
        Thread.ofPlatform().name("memory-load").daemon().start(() -> takeAndGiveBack(nice));
  }

  private void takeAndGiveBack(int nice) {
    boolean _ = ThreadPriority.yieldToOthers(nice);
    while (!closed) {
      if (sharing.overview().seen().state() == SharingState.HEALTHY) {
        try (Arena memory = Arena.ofConfined()) {
          overload(memory);
        }
      }
      LockSupport.parkNanos(PAUSE_NANOS);
    }
  }

  private void overload(Arena memory) {
    long returns = sharing.overview().evictions().memoryReturns();
    while (!closed && host.taken().orElse(1) < enough) {
      memory.allocate(PIECE_BYTES).fill((byte) 1);
    }
    long begin = System.nanoTime();
    while (!closed
        && sharing.overview().evictions().memoryReturns() == returns
        && System.nanoTime() - begin < LONGEST_NANOS) {
      LockSupport.parkNanos(PAUSE_NANOS);
    }
  }

  @Override
  public void close() {
    closed = true;
    LockSupport.unpark(thread);
    ThreadEnd.await(thread);
  }
}
