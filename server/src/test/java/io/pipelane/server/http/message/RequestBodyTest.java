package io.pipelane.server.http.message;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.buffer.UnpooledByteBufAllocator;
import io.pipelane.lanes.allocation.TransferMemory;
import io.pipelane.server.net.TransferBuffers;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import java.util.Objects;
import org.junit.jupiter.api.Test;

final class RequestBodyTest {
  private static final int PIECE = 64 << 10;
  private static final TransferBuffers NO_TRANSFERS =
      new TransferBuffers(new TransferMemory(MemorySegment.NULL));

  private final TransferMemory transferMemory =
      new TransferMemory(Arena.ofAuto().allocate(1 << 20, 256));
  private final TransferBuffers transfers = new TransferBuffers(transferMemory);

  @Test
  void take_allOfALargeBodyHasCome_isWholeInABufferOfItsLength() {
    int pieces = 80;
    ByteBuf body = collect(pieces, (long) pieces * PIECE);
    assertEquals(pieces * PIECE, body.capacity());
    for (int i = 0; i < pieces; i++) {
      assertEquals(i, body.getByte(i * PIECE));
      assertEquals(i, body.getByte((i + 1) * PIECE - 1));
    }
    body.release();
  }

  @Test
  void take_muchMoreAnnouncedThanCame_holdsEightTimesWhatCameAtMost() {
    for (int pieces = 2; pieces < 20; pieces++) {
      ByteBuf body = collect(pieces, 1L << 30);
      assertEquals(pieces * PIECE, body.readableBytes());
      assertTrue(body.capacity() <= 8 * pieces * PIECE, () -> "capacity " + body.capacity());
      body.release();
    }
  }

  @Test
  void add_whatWasReadInPlace_isNotMoved() {
    int length = 5 * PIECE + 17;
    RequestBody body = new RequestBody(UnpooledByteBufAllocator.DEFAULT, transfers, length, 1);
    assertNull(body.readPlace());
    add(body, Unpooled.directBuffer(PIECE), PIECE, 1);
    for (int piece = 1; piece < 5; piece++) {
      add(body, place(body), PIECE, 1 + piece);
    }
    add(body, place(body), 17, 6);
    assertNull(body.readPlace());
    ByteBuf taken = body.take();
    assertEquals(length, taken.readableBytes());
    assertEquals(0, (taken.memoryAddress() + taken.readerIndex() + 1) % 64);
    for (int i = 0; i < length; i++) {
      assertEquals(1 + i / PIECE, taken.getByte(taken.readerIndex() + i));
    }
    taken.release();
    assertEquals(0, transferMemory.lentBytes());
  }

  @Test
  void add_whatWasReadElsewhere_isCopied() {
    RequestBody body = new RequestBody(UnpooledByteBufAllocator.DEFAULT, transfers, 3L * PIECE, 64);
    add(body, Unpooled.directBuffer(PIECE), PIECE, 1);
    ByteBuf unused = place(body);
    add(body, Unpooled.buffer(PIECE), PIECE, 2);
    add(body, unused, PIECE, 9); // Read to a place that is no longer the next one.
    ByteBuf taken = body.take();
    assertEquals(3 * PIECE, taken.readableBytes());
    taken.release();
  }

  @Test
  void readPlace_keptByAReader_keepsTheMemory() {
    RequestBody body = new RequestBody(UnpooledByteBufAllocator.DEFAULT, transfers, 3L * PIECE, 64);
    add(body, Unpooled.directBuffer(PIECE), PIECE, 1);
    ByteBuf place = place(body);
    body.release();
    assertNull(body.readPlace());
    assertTrue(transferMemory.lentBytes() > 0);
    place.release();
    assertEquals(0, transferMemory.lentBytes());
  }

  private static ByteBuf place(RequestBody body) {
    return Objects.requireNonNull(body.readPlace());
  }

  /** Fills a buffer with so many bytes, and adds and releases it. */
  private static void add(RequestBody body, ByteBuf piece, int bytes, int value) {
    byte[] content = new byte[bytes];
    Arrays.fill(content, (byte) value);
    body.add(piece.writeBytes(content));
    piece.release();
  }

  private static ByteBuf collect(int pieces, long announced) {
    RequestBody body =
        new RequestBody(UnpooledByteBufAllocator.DEFAULT, NO_TRANSFERS, announced, 0);
    for (int i = 0; i < pieces; i++) {
      byte[] bytes = new byte[PIECE];
      Arrays.fill(bytes, (byte) i);
      ByteBuf piece = Unpooled.directBuffer(PIECE).writeBytes(bytes);
      body.add(piece);
      piece.release();
    }
    return body.take();
  }
}
