package io.pipelane.server.http;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.buffer.UnpooledByteBufAllocator;
import java.util.Arrays;
import org.junit.jupiter.api.Test;

final class RequestBodyTest {
  private static final int PIECE = 64 << 10;

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

  private static ByteBuf collect(int pieces, long announced) {
    RequestBody body = new RequestBody(UnpooledByteBufAllocator.DEFAULT, announced);
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
