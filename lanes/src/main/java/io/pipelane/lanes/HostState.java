package io.pipelane.lanes;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;

/** State in host memory. */
record HostState(Arena arena, MemorySegment memory) implements DeviceStates.State {
  private static final long ALIGNMENT = 64;

  static HostState take(long bytes) {
    Arena arena = Arena.ofShared();
    try {
      return new HostState(arena, arena.allocate(Math.max(1, bytes), ALIGNMENT).asSlice(0, bytes));
    } catch (RuntimeException | Error e) {
      arena.close();
      throw e;
    }
  }

  @Override
  public void read(MemorySegment host) {
    host.copyFrom(memory);
  }

  @Override
  public void write(MemorySegment host) {
    memory.copyFrom(host);
  }

  @Override
  public void close() {
    arena.close();
  }
}
