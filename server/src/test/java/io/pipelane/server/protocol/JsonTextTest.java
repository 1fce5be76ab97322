package io.pipelane.server.protocol;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.UnpooledByteBufAllocator;
import io.netty.buffer.UnpooledHeapByteBuf;
import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import org.junit.jupiter.api.Test;

class JsonTextTest {
  private static final String PIECE = "7".repeat(1 << 20);
  private static final int PIECES = 48;

  @Test
  void write_longText_movesItAFewTimesOnly() {
    MovingBuffer target = new MovingBuffer();
    Json.write(
        target,
        json -> {
          for (int i = 0; i < PIECES; i++) {
            json.writeRaw(PIECE);
          }
        });
    assertEquals(PIECES << 20, target.readableBytes());
    assertEquals('7', target.getByte(target.writerIndex() - 1));
    assertTrue(target.moved < 3L * target.readableBytes(), "moved " + target.moved + " bytes");
    target.release();
  }

  @Test
  void write_toABufferWithLittleRoomLeft_usesAllOfIt() {
    ByteBuf target = UnpooledByteBufAllocator.DEFAULT.heapBuffer(100, 130).writeZero(90);
    Json.write(target, json -> json.writeRaw("8".repeat(40)));
    assertEquals(130, target.writerIndex());
    target.release();
  }

  @Test
  void read_stringLongerThanTheHeapHasRoomFor_saysWhatToDo() {
    int length = Json.MAXIMUM_STRING_LENGTH + 1;
    ByteBuf text = UnpooledByteBufAllocator.DEFAULT.heapBuffer(length + 2);
    text.writeByte('"');
    while (text.writableBytes() > 1) {
      text.writeByte('a');
    }
    text.writeByte('"');
    StatusException refusal =
        assertThrows(
            StatusException.class,
            () ->
                Json.read(
                    text,
                    parser -> {
                      parser.nextToken();
                      return parser.getText();
                    }));
    assertEquals(Status.INSUFFICIENT_MEMORY, refusal.status());
    String message = String.valueOf(refusal.getMessage());
    assertTrue(message.contains((length - 1) + " characters"), message);
    assertTrue(message.contains("binary data, or raise -Xmx"), message);
    text.release();
  }

  /** A buffer that counts what was in it each time that its memory changed. */
  private static final class MovingBuffer extends UnpooledHeapByteBuf {
    long moved;

    MovingBuffer() {
      super(UnpooledByteBufAllocator.DEFAULT, 1024, Integer.MAX_VALUE);
    }

    @Override
    public ByteBuf capacity(int newCapacity) {
      moved += writerIndex();
      return super.capacity(newCapacity);
    }
  }
}
