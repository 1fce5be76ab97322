package io.pipelane.server.net;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.UnpooledByteBufAllocator;
import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.lanes.allocation.TransferMemory;
import java.lang.foreign.Arena;
import java.util.Objects;
import org.junit.jupiter.api.Test;

final class TransferBuffersTest {
  private static final int SIZE = 100_000;

  private final UnpooledByteBufAllocator ordinary = new UnpooledByteBufAllocator(true);
  private final TransferMemory memory =
      new TransferMemory(Arena.ofAuto().allocate(SIZE + 1000, 256));
  private final TransferBuffers buffers = new TransferBuffers(memory);

  private ByteBuf find() {
    return Objects.requireNonNull(buffers.find(SIZE, ordinary));
  }

  @Test
  void find_whatIsReleasedForTheLastTime_goesBack() {
    ByteBuf buffer = find();
    long address = buffer.memoryAddress();
    ByteBuf slice = buffer.retainedSlice(10, SIZE - 10);
    assertEquals(address + 10, slice.memoryAddress());
    buffer.release();
    assertEquals((SIZE + 255) & -256, memory.lentBytes());
    slice.release();
    assertEquals(0, memory.lentBytes());
    assertThrows(RuntimeException.class, () -> slice.getByte(0));
    ByteBuf again = find();
    assertEquals(address, again.memoryAddress());
    again.release();
  }

  @Test
  void find_writtenAndRead_holdsItsBytesAndNoMore() {
    ByteBuf buffer = find();
    for (int i = 0; i < SIZE; i++) {
      buffer.writeByte(i);
    }
    assertEquals(0, buffer.writableBytes());
    assertThrows(IndexOutOfBoundsException.class, () -> buffer.writeByte(1));
    ByteBuf copy = buffer.copy();
    assertEquals(buffer, copy);
    copy.release();
    buffer.release();
  }

  @Test
  void take_noRoomOrNotWorthIt_isOrdinaryMemory() {
    ByteBuf first = buffers.take(SIZE, ordinary);
    assertEquals(0, ordinary.metric().usedDirectMemory());
    ByteBuf small = buffers.take(100, ordinary);
    ByteBuf second = buffers.take(SIZE, ordinary);
    assertEquals(100 + SIZE, ordinary.metric().usedDirectMemory());
    assertNull(buffers.find(SIZE, ordinary));
    first.release();
    second.release();
    small.release();
    assertEquals(0, ordinary.metric().usedDirectMemory());
    assertEquals(0, memory.lentBytes());
  }

  @Test
  void take_noMemoryLeft_isAnErrorThatSaysHowMuchThereIs() {
    ByteBufAllocator scant = new ScantMemory(99);
    StatusException refusal = assertThrows(StatusException.class, () -> buffers.take(100, scant));
    assertEquals(Status.UNAVAILABLE, refusal.status());
    String message = String.valueOf(refusal.getMessage());
    assertTrue(message.startsWith("there is no room for 100 bytes of a request"), message);
    assertTrue(message.contains("raise -XX:MaxDirectMemorySize"), message);
  }
}
